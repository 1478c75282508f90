// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "core/output.h"
#include "core/quantity.h"
#include "gen/commands/commands.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/plan/plan_report.h"
#include "gen/questions.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

struct PlanOptions {
  PerfOptions perf;
  app::Verdicts verdicts{kPlanQuestions};
  bool find_loss = false, json = false;
};

/// Shows on a terminal how far the simulated runs of a plan are: a line that is written again twice
/// a second.
class PlanProgress {
 public:
  PlanProgress() : shows_(isatty(STDERR_FILENO) != 0) {}
  PlanProgress(const PlanProgress&) = delete;
  PlanProgress& operator=(const PlanProgress&) = delete;
  ~PlanProgress() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }

  /// Call it before a run; must outlive it.
  void attach(sim::Simulation& simulation) {
    if (!shows_) return;
    ++run_;
    packets_ = 0;
    for (const std::size_t link : {0, 1})
      simulation.link(link).on_enter = [this](Instant at, const transport::Packet&) { count(at); };
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kPacketsBetweenLooks = 4096;  // some 0.4 ms
  static constexpr std::chrono::milliseconds kInterval{500};

  void count(Instant at) {
    if (++packets_ % kPacketsBetweenLooks != 0 || Clock::now() - last_ < kInterval) return;
    last_ = Clock::now();
    shown_ = true;
    std::fputs(fmt::format("\rsimulating: run {}, {} packets, {} of virtual time\x1b[K", run_,
                           format_count(packets_), format_duration(at - Instant{}))
                   .c_str(),
               stderr);
  }

  bool shows_, shown_ = false;
  unsigned run_ = 0;
  std::uint64_t packets_ = 0;
  Clock::time_point last_ = Clock::now();
};

ExitCode print_plan(PlanOptions& options) {
  auto config = perf_config(options.perf);
  if (!config) return print_error(config.error());
  say_path(options.perf);
  app::Verdicts& verdicts = options.verdicts;
  if (auto checked = verdicts.check(kPlanOutput); !checked) return print_error(checked.error());
  if (auto apart = check_outputs({{"--path", options.perf.path}}, {verdicts.junit()}); !apart)
    return print_error(apart.error());
  config->stop = &stop_on_signals();
  const Plan result = [&] {
    PlanProgress progress;
    return plan(*config, options.find_loss, [&](sim::Simulation& each) { progress.attach(each); });
  }();
  Judge judge = verdicts.judge();
  observe_plan(judge, result);
  const std::string json = verdicts.judged(
      judge, options.json,
      [&] { return report::json_line(kPlanOutput, PlanReport{*config, result}); }, "roce-gen plan",
      &kPlanOutput);
  print_out(options.json ? json : verdicts.text() + plan_text(*config, result));
  const ExitCode judged = verdicts.finish("roce-gen plan");
  return config->stopped() ? std::max(judged, ExitCode::failed) : judged;
}

}  // namespace

app::Command plan_command() {
  auto options = std::make_shared<PlanOptions>();
  app::Command command{
      .name = "plan",
      .help = "Compute and simulate what fills a path, and what limits a transfer",
      .examples = "roce-gen plan --path apn-380km --op read -s 64KiB -q 16",
      .run = [options] { return print_plan(*options); },
  };
  app::Options& list = command.options;
  add_transfer_options(list, options->perf);
  add_path_options(list, options->perf);
  list.add_flag("--find-loss", options->find_loss,
                "search for the loss that costs a tenth of the throughput, by simulated runs");
  options->verdicts.add_options(list);
  list.add_flag("--json", options->json, "print one line of JSON");
  return command;
}

}  // namespace lw::gen
