// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/perf_runs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/names.h"
#include "core/output.h"
#include "gen/commands/measure_options.h"

namespace lw::gen {

using perf::PerfPattern;

std::unexpected<Error> refuse(const std::string& option, const std::string& why) {
  return fail(option + ": " + why);
}

Result<void> check_conflicts(const app::Given& given, const Conflicts& conflicts) {
  for (const Conflict& each : conflicts)
    for (const std::string& option : each.options)
      if (each.applies && given.has(option)) return refuse(option, each.why);
  return {};
}

Conflicts shared_conflicts(const app::Given& given, const PerfRuns& runs) {
  const PerfPattern pattern = runs.options.pattern;
  const bool once = given.has("--pcap") || given.has("--study") || given.has("--live");
  return {{runs.latency(), {"--forever"}, "goes with --pattern bw"},
          {runs.sweep.empty(), {"--out", "--repeats"}, "goes with --sweep"},
          {is_of_study(pattern) || runs.options.common() || runs.pings,
           {"--sweep"},
           "goes with --pattern bw and lat"},
          {!runs.sweep.empty(),
           {"--all", "--json", "--forever", "--pcap", "--series", "--study", "--live", "--expect",
            "--junit", "--data", "--interval"},
           "does not go with --sweep: its files have every run"},
          {once, {"--forever"}, "goes without --pcap, --study and --live"},
          {pattern == PerfPattern::ping,
           {"--duration"},
           "goes with --pattern bw, lat and blast: give -n"},
          {runs.config().qp.rate_control == transport::RateControl::none,
           {"--qp-rate"},
           "goes with --rate-control fixed or dcqcn"}};
}

void add_perf_outputs(app::Options& list, PerfRuns& runs) {
  list.add("--series", app::text(runs.series), "FILE.csv",
           "time series of rate, alpha, outstanding, retransmitted and RTT of each QP; of a "
           "network a line per port and sample");
  list.add("--interval", app::parsed(read_interval, runs.interval), "TIME",
           "line with rate, packets retransmitted, losses and round trip, or with latencies, each "
           "TIME of a run; a number is in seconds")
      .defaults_to("none");
  list.add(
      "--sweep",
      app::each(parse_sweep_parameter,
                [&runs](const config::ExperimentParameter& each) { runs.sweep.push_back(each); }),
      "OPTION=VALUE,...",
      "run each value of an option of the run, such as size=4K,64K,1M, or of a parameter of "
      "DCQCN, cc.rpg_gd=10,11, in every combination");
  list.add("-o,--out", app::text(runs.out), "DIR", "folder for the table, CSV and plot of a sweep")
      .defaults_to("perf-PATTERN-results");
  list.add("--repeats", app::number(runs.repeats, 1u, 10'000u), "N",
           "runs of each combination of a sweep, with other seeds");
  list.add_flag("--forever", runs.forever,
                "repeat the run until a signal, with a row for each --duration (5 s unless given)");
  list.add_flag("-a,--all", runs.all_sizes, "measure every power of two, 2 B to 8 MiB");
  runs.verdicts.add_options(list);
  runs.verdicts.add_strict_option(list);
  runs.html.add_option(list);
  list.add_flag("-J,--json", runs.json, "print one line of JSON per size");
}

namespace {

/// Sets what the command leaves open. A simulated bandwidth run finds a sufficient number of
/// messages itself.
void complete(const PerfRuns& runs, perf::PerfConfig& config) {
  constexpr std::uint64_t kIterations = 5000;  // per QP: the default of perftest
  constexpr Duration kPeriod = std::chrono::seconds(5);
  const bool given = config.duration > Duration{} || config.iterations > 0;
  if (runs.forever && !given) config.duration = kPeriod;
  const bool counted = config.duration == Duration{};
  if (config.iterations == 0 && !runs.simulated && counted) config.iterations = kIterations;
}

/// Reads a value of --sweep: of an option of the run, or of a parameter "cc.KEY".
Result<void> set_swept(const app::Options& list, const std::string& name,
                       const std::string& value) {
  const bool parameter = name.starts_with("cc.");
  std::string option = parameter ? "--set" : "--" + name;
  std::ranges::replace(option, '_', '-');
  const app::Option* found = list.find(option);
  if (found == nullptr || found->value.is_flag || option == "--pattern")
    return fail(fmt::format(
        "--sweep: expected an option of a run with a value, such as size, found \"{}\"", name));
  if (const auto read = found->read(parameter ? name + "=" + value : value); !read)
    return fail(fmt::format("--sweep: {}: {}", parameter ? name : option, read.error()));
  return {};
}

/// Returns the run with the values of a combination.
Result<perf::PerfConfig> config_at(const PerfRuns& runs, const experiment::Point& point) {
  PerfOptions changed;
  app::Options list;
  add_transfer_options(list, changed);
  if (runs.simulated) add_path_options(list, changed);
  add_run_options(list, changed);
  add_parameter_option(list, changed.config.qp.dcqcn);
  if (runs.simulated) add_simulated_run_options(list, changed);
  if (!runs.simulated) add_transport_option(list, changed.config.qp);
  changed = runs.options;
  for (const auto& [name, value] : point)
    if (auto set = set_swept(list, name, value); !set) return std::unexpected(set.error());
  auto config = perf_config(changed, runs.simulated);
  if (!config) return fail("--sweep: " + config.error().message);
  complete(runs, *config);
  return config;
}

Sweep sweep_of(const PerfRuns& runs, const std::string& through) {
  std::vector<std::string> figures = runs.latency()
                                         ? std::vector<std::string>{"t_typical_usec", "t_avg_usec"}
                                         : std::vector<std::string>{"bw_average_gbps"};
  return {fmt::format("perf-{}", name_of(runs.pattern())), through, runs.sweep, runs.repeats,
          std::move(figures)};
}

/// Prints a part of the report; while the live view is shown, holds it back.
void print_part(PerfRuns& runs, const std::string& text) {
  if (runs.waits) {
    runs.waiting += text;
  } else {
    print_report(text);
  }
}

/// Judges and prints the result of one size.
void print_outcome(PerfRuns& runs, const perf::PerfConfig& config, const PerfOutcome& outcome) {
  const PerfReport report{config, outcome, runs.pattern()};
  const JsonOutput& output = output_of(report.pattern);
  Judge judge = runs.verdicts.judge();
  observe_perf(judge, report, runs.forever);
  const std::string json = runs.verdicts.judged(
      judge, runs.json || runs.html.wanted(), [&] { return perf_json(report); },
      fmt::format("{} B", config.size), &output);
  runs.html.add_report(json, output, runs.verdicts.last(), page_rows(report));
  runs.plots.add(config.size, outcome, runs.simulated ? config.nic.rate_bps : 0);
  print_part(runs, runs.json ? json : perf_row(report));
}

/// Measures and prints each size, until one is incomplete. Errors: of a measurement.
Result<void> run_sizes(PerfRuns& runs, perf::PerfConfig config, const PerfMeasure& measure) {
  if (!runs.json && !std::exchange(runs.headed, true))
    print_part(runs, perf_heading(runs.pattern()));
  const std::vector<std::uint32_t> sizes = sizes_of(config, runs.all_sizes);
  for (const std::uint32_t size : sizes) {
    config.size = size;
    const auto outcome = measure(config);
    if (!outcome) return std::unexpected(outcome.error());
    const bool last = size == sizes.back() || outcome->incomplete();
    if (const auto close = !runs.forever && last ? std::exchange(runs.close_files, {}) : nullptr)
      close();
    print_outcome(runs, config, *outcome);
    if (outcome->incomplete()) break;
  }
  return {};
}

/// Measures one combination of a sweep.
Result<report::Json> swept_values(const PerfRuns& runs, perf::PerfConfig config,
                                  const PerfMeasure& measure) {
  const auto outcome = measure(config);
  if (!outcome) return std::unexpected(outcome.error());
  report::Json values = perf_values({config, *outcome, runs.pattern()});
  values.erase("responder");
  values["wrong"] = outcome->wrong;
  if (outcome->wrong > 0) values["failure"] = wrong_text(outcome->wrong);
  return values;
}

}  // namespace

Result<perf::PerfConfig> run_config_of(const PerfRuns& runs) {
  auto config = perf_config(runs.options, runs.simulated);
  if (config) complete(runs, *config);
  return config;
}

Result<void> run_repeatedly(PerfRuns& runs, perf::PerfConfig config, const PerfMeasure& measure,
                            const std::atomic<bool>& stop) {
  for (;; ++config.path.seed) {
    auto ran = run_sizes(runs, config, measure);
    if (runs.forever && stop.load(std::memory_order_relaxed)) return {};
    if (!ran || !runs.forever) return ran;
    standard_output().flush();
  }
}

Result<void> sweep_over(PerfRuns& runs, const std::string& through, const PerfMeasure& measure,
                        const std::atomic<bool>& stop) {
  Sweep sweep = sweep_of(runs, through);
  for (const experiment::Point& point : experiment::points_of(runs.sweep))
    if (auto config = config_at(runs, point); !config) return std::unexpected(config.error());
  const std::string folder = runs.out.empty() ? sweep.profile.name + "-results" : runs.out;
  std::vector<NamedFile> outputs = {runs.html.file()};
  for (const std::string& file : sweep.files(folder)) outputs.push_back({"--out", file});
  if (auto apart = check_outputs({{"--path", runs.options.path}}, outputs); !apart) return apart;
  std::uint64_t run = 0;
  sweep.run = [&](const experiment::Point& point) -> Result<report::Json> {
    auto config = config_at(runs, point);
    if (!config) return std::unexpected(config.error());
    config->stop = &stop;
    config->path.seed += run++;
    return swept_values(runs, *config, measure);
  };
  return run_sweep(sweep, folder, stop, {runs.of_sweep, runs.html});
}

}  // namespace lw::gen
