// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/measure_options.h"
#include "gen/study/result_files.h"
#include "report/progress.h"

namespace lw::gen {
namespace {

using namespace experiment;

constexpr const char* kExperimentExamples =
    R"(roce-gen experiment profiles/experiments/apn-380km-throughput.toml
roce-gen experiment my.toml --out results --set qps=8 --only size=64KiB --repeats 3)";

struct ExperimentOptions {
  std::string file, out;
  std::vector<std::string> set, only;
  Changes changes;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
};

Result<std::vector<std::pair<std::string, std::string>>> pairs_of(
    const std::vector<std::string>& texts, const char* option) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(fmt::format("{}: expected PARAMETER=VALUE, found \"{}\"", option, text));
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return pairs;
}

Instant steady_now() {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

/// "[######--------] 12 of 30 runs, 4 s", on a terminal only.
class ProgressBar {
 public:
  void show(std::size_t done, std::size_t all) {
    if (!display_.on_terminal()) return;
    constexpr std::size_t kWidth = 30;
    const std::size_t full = all == 0 ? kWidth : kWidth * done / all;
    const Instant now = steady_now();
    const auto seconds = static_cast<double>((now - begin_).count()) * 1e-9;
    display_.show(now, fmt::format("[{:#<{}}{:-<{}}] {} of {} runs, {:.0f} s{}", "", full, "",
                                   kWidth - full, done, all, seconds, done == all ? "\n" : ""));
  }

 private:
  report::Progress display_{{.style = report::ProgressStyle::overwrite}};
  Instant begin_ = steady_now();
};

Result<void> write_all(const Outcome& outcome, const std::filesystem::path& folder) {
  const auto& profile = outcome.results.profile;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(fmt::format("{}: {}", folder.string(), error.message()));
  std::vector<std::pair<std::string, std::string>> files = {
      {profile.name + ".csv", to_csv(outcome)},
      {profile.name + ".json", to_json(outcome)},
      {profile.name + ".txt", to_text(outcome)}};
  for (const auto& plot : profile.plots)
    files.emplace_back(plot.name + ".svg", to_picture(outcome, plot));
  for (const auto& [name, content] : files)
    if (auto wrote = write_file((folder / name).string(), content); !wrote) return wrote;
  print_out(fmt::format("\nwritten to {}:", folder.string()));
  for (const auto& [name, content] : files) print_out(fmt::format(" {}", name));
  print_out("\n");
  return {};
}

/// Loads the published tables before anything runs, to find their errors early.
Result<void> check_tables(const config::ExperimentProfile& profile) {
  for (const auto& scenario : profile.scenarios) {
    if (!scenario.compare) continue;
    if (auto table = load_published(scenario.compare->table); !table)
      return fail(fmt::format("{}:{}:{}: compare: {}", profile.file, scenario.compare->at.line,
                              scenario.compare->at.column, table.error().message));
  }
  return {};
}

Result<Outcome> run(const config::ExperimentProfile& profile, const ExperimentOptions& options,
                    std::vector<Cell> cells) {
  Outcome outcome{.results = {.profile = profile,
                              .changes = options.changes,
                              .cells = std::move(cells),
                              .runs = {}},
                  .compared = {}};
  ProgressBar bar;
  run_cells(outcome.results, options.jobs,
            [&bar](std::size_t done, std::size_t all) { bar.show(done, all); });
  for (std::size_t i = 0; i < profile.scenarios.size(); ++i) {
    outcome.compared.emplace_back();
    if (!profile.scenarios[i].compare) continue;
    auto compared = compare(outcome.results, i);
    if (!compared) return std::unexpected(compared.error());
    outcome.compared.back() = std::move(*compared);
  }
  return outcome;
}

/// Number of published cells that differ by more than the experiment allows.
std::size_t too_far(const Outcome& outcome) {
  std::size_t count = 0;
  for (const auto& scenario : outcome.compared)
    for (const Compared& compared : scenario) count += compared.holds ? 0 : 1;
  return count;
}

ExitCode run_experiment(ExperimentOptions options) {
  const auto profile = config::load_experiment_profile(options.file);
  if (!profile) return print_error(profile.error());
  auto set = pairs_of(options.set, "--set"), only = pairs_of(options.only, "--only");
  if (!set) return print_error(set.error());
  if (!only) return print_error(only.error());
  options.changes.set = std::move(*set);
  options.changes.only = std::move(*only);
  if (const auto tables = check_tables(*profile); !tables) return print_error(tables.error());
  auto cells = cells_of(*profile, options.changes);
  if (!cells) return print_error(cells.error());
  const auto outcome = run(*profile, options, std::move(*cells));
  if (!outcome) return print_error(outcome.error());
  print_report(to_text(*outcome) + fmt::format("\n{} cells in {:.1f} s\n",
                                               outcome->results.cells.size(),
                                               outcome->results.elapsed_s));
  const std::string folder = options.out.empty() ? profile->name + "-results" : options.out;
  if (const auto wrote = write_all(*outcome, folder); !wrote) return print_error(wrote.error());
  const std::size_t far = too_far(*outcome);
  if (far == 0) return ExitCode::done;
  return print_error(
      {fmt::format("{} figures are further from the published ones than asked for", far),
       ExitCode::failed});
}

}  // namespace

app::Command experiment_command() {
  auto options = std::make_shared<ExperimentOptions>();
  app::Command command{
      .name = "experiment",
      .help = "Sweep parameters of simulated runs; write tables, CSV, JSON and plots",
      .examples = kExperimentExamples,
      .run = [options] { return run_experiment(*options); },
  };
  app::Options& list = command.options;
  list.add("FILE", app::text(options->file), "", "experiment profile").required();
  list.add("--out", app::text(options->out), "DIR", "folder for the results")
      .defaults_to("NAME-results");
  list.add_flag("--full", options->changes.full,
                "full length, as in the profile's [scenario.full]");
  list.add("--scenario", app::texts(options->changes.scenarios), "NAME",
           "scenario to run; may be repeated")
      .defaults_to("all");
  list.add("--set", app::texts(options->set), "PARAMETER=VALUE",
           "value of a parameter in every scenario; may be repeated");
  list.add("--only", app::texts(options->only), "PARAMETER=VALUE",
           "the only value of a sweep to run; may be repeated");
  list.add("--repeats", app::number(options->changes.repeats, 1u, 10'000u), "N",
           "runs of each random cell, with different seeds, instead of the profile's number")
      .defaults_to("the profile's");
  list.add("--jobs", app::number(options->jobs, 1u, 1024u), "N", "number of simultaneous runs")
      .defaults_to("number of cores");
  return command;
}

}  // namespace lw::gen
