// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/sim_command.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/stop_signal.h"
#include "config/toml/profile_search.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/network_run.h"
#include "gen/network/network_description.h"
#include "gen/network/network_drawing.h"
#include "gen/perf/report/buffer_need.h"
#include "gen/perf/report/perf_files.h"
#include "gen/perf/report/perf_view.h"
#include "sim/perf.h"

namespace lw::gen {
namespace {

constexpr const char* kSimExamples =
    R"(roce-gen sim --path apn-380km --op write -s 64KiB -q 4 -t 2048
roce-gen sim --path apn-380km --op read -a -q 16 --json
roce-gen sim --delay 1ms --pattern lat --op send -s 64
roce-gen sim long-haul-incast-100km --rate-control dcqcn --duration 200ms
roce-gen sim fat-tree-16 --draw fat-tree.svg
roce-gen sim --delay 0us --pattern blast --op write --study out
roce-gen sim --path apn-380km -- ib_write_bw -d mlx5_2 -R -t 2048 -q 4 -F --report_gbits)";

constexpr const char* kSimNotes =
    R"(A line of perftest may follow --, from its program's name on, as with `roce-gen perf`.)";

Result<PerfOutcome> simulate(const SimCommand& command, const perf::PerfConfig& config,
                             const sim::PerfHook& hook) {
  IntervalReport report(command.interval, command.json);
  report.start(Instant{});
  const sim::IntervalListener intervals{
      .every = command.interval,
      .ended = std::bind_front(&IntervalReport::add, &report),
      .rest = std::bind_front(&IntervalReport::finish, &report),
  };
  PerfOutcome outcome;
  if (command.latency()) {
    outcome.latency = sim::run_latency(config, hook, intervals);
  } else {
    outcome.bandwidth = sim::run_bandwidth(config, hook, intervals);
  }
  outcome.intervals = report.extremes();
  return outcome;
}

std::vector<CapturePoint> points_of(const std::vector<std::string>& names) {
  if (names.empty()) return {CapturePoint::client_out, CapturePoint::server_out};
  std::vector<CapturePoint> points;
  for (std::size_t i = 0; i < kCapturePoints.size(); ++i)
    if (std::ranges::find(names, kCapturePoints[i]) != names.end())
      points.push_back(static_cast<CapturePoint>(i));
  return points;
}

/// Runs all sizes, with the files and the live view that were asked for.
Result<void> run_all_sizes(SimCommand& command, const perf::PerfConfig& config) {
  PerfCapture capture(points_of(command.points));
  auto series = PerfSeries::open(command.series);
  if (!series) return std::unexpected(series.error());
  PerfView view(command.name, command.live, sizes_of(config, command.all_sizes).size());
  command.waits = view.on_screen();
  const auto run = [&](const perf::PerfConfig& each) -> Result<PerfOutcome> {
    auto outcome = simulate(command, each, [&](sim::Simulation& simulation) {
      if (!command.pcap.empty()) capture.attach(simulation);
      series->attach(simulation, config.qps);
      view.attach(simulation, each);
    });
    if (outcome) view.add(each, *outcome);
    return outcome;
  };
  command.close_files = [&] {
    report_at_end(series->close());
    if (!command.pcap.empty()) report_at_end(capture.write(command.pcap));
  };
  auto ran = run_repeatedly(command, config, run, *config.stop);
  view.end();
  print_report(std::exchange(command.waiting, {}));
  if (!ran) command.pcap.clear();  // a former file stays
  if (const auto close = std::exchange(command.close_files, {})) close();
  return ran;
}

/// Error: an output is also an input or another output.
Result<void> check_sim_files(const SimCommand& command) {
  std::vector<NamedFile> outputs = {{"--pcap", command.pcap, true},
                                    {"--series", command.series},
                                    command.verdicts.junit(),
                                    command.html.file()};
  if (!command.study.empty())
    for (const std::string& file : buffer_files(command.study))
      outputs.push_back({"--study", file});
  return check_outputs({{"--path", command.options.path}}, outputs);
}

ExitCode sweep(SimCommand& command, const std::atomic<bool>& stop) {
  const auto measure = [&](const perf::PerfConfig& each) { return simulate(command, each, {}); };
  const auto ran = sweep_over(command, command.name, measure, stop);
  const ExitCode judged = command.of_sweep.finish(command.name);
  return ran ? judged : std::max(judged, print_error(ran.error()));
}

/// Runs the study of buffers. A signal ends it at once, because the table needs all rows.
ExitCode study(SimCommand& command) {
  const auto config = run_config_of(command);
  if (!config) return print_error(config.error());
  if (const auto apart = check_sim_files(command); !apart) return print_error(apart.error());
  const auto studied = find_buffer_need(*config, command.study, command.json);
  return studied ? ExitCode::done : print_error(studied.error());
}

ExitCode run_over_path(SimCommand& command, const std::atomic<bool>& stop) {
  auto config = run_config_of(command);
  if (!config) return print_error(config.error());
  say_path(command.options);
  if (const auto apart = check_sim_files(command); !apart) return print_error(apart.error());
  config->stop = &stop;
  if (!command.sweep.empty()) return sweep(command, stop);
  const auto ran = run_all_sizes(command, *config);
  for (report::Plot& plot : command.plots.plots()) command.html.add_plot(std::move(plot));
  if (!command.json) print_report(command.verdicts.all_text());
  const ExitCode expected = command.verdicts.finish(command.name);
  return std::max(expected, ran ? ExitCode::done : print_error(ran.error()));
}

/// Describes the network and draws it, without a run.
ExitCode draw(const SimCommand& command) {
  constexpr bool kWithPath = false;
  auto perf = perf_config(command.options, kWithPath);
  if (!perf) return print_error(perf.error());
  const auto file = load_network(command.network.network, command.options.nic, *perf);
  if (!file) return print_error(file.error());
  if (const auto apart =
          check_outputs({{"--network", command.network.network}}, {{"--draw", command.drawing}});
      !apart)
    return print_error(apart.error());
  if (const auto written = write_file(command.drawing, network_svg(*file)); !written)
    return print_error(written.error());
  print_report(describe_network(*file, *perf));
  return ExitCode::done;
}

ExitCode simulate(SimCommand& command) {
  if (!command.drawing.empty()) return draw(command);
  if (!command.study.empty()) return study(command);
  const std::atomic<bool>& stop = stop_on_signals();
  if (!command.on_network()) return run_over_path(command, stop);
  return run_on_network(
      command.network, command.options,
      {command.verdicts, command.html, command.json, command.series, command.pcap, command.points},
      stop);
}

void add_network_and_files(app::Options& list, SimCommand& command) {
  list.add("NETWORK", app::profile(command.network.network, {config::kNetworkProfiles}), "",
           "hosts, switches and links, and what the hosts send, in place of a path");
  add_network_options(list, command.network);
  list.add("--cores", app::number(command.network.cores, 1u, 128u), "N",
           "of a network: cores to run parts on that cables of 1 km and more join; the results "
           "are the same")
      .defaults_to("all");
  list.add("--draw", app::text(command.drawing), "FILE.svg",
           "draw the network into this file, print its links and the headroom of PFC, and run "
           "nothing");
  list.add("--pcap", app::text(command.pcap), "FILE",
           "capture of what leaves both ports (with -n), or ports of a network");
  list.add("--pcap-at", app::texts(command.points), "POINT",
           fmt::format("point to capture at: {}, or FROM:TO of a network",
                       fmt::join(kCapturePoints, ", ")))
      .defaults_to("client-out, server-out");
  list.add("--study", app::text(command.study), "DIR",
           "of a blast: how many buffers fill the channel at each distance; prints the table, "
           "writes buffers.csv and buffers.svg");
  list.add_flag("--live", command.live, report::kLiveHelp);
}

}  // namespace

app::Command sim_command() {
  auto options = std::make_shared<SimCommand>();
  options->name = "roce-gen sim";
  options->simulated = true;
  app::Command command{
      .name = "sim",
      .help = "Simulate RDMA over a path or a network, packet by packet, in virtual time",
      .examples = kSimExamples,
      .notes = kSimNotes,
      .check = [options](const app::Given& given) { return check_usage(given, *options); },
      .run = [options] { return simulate(*options); },
  };
  app::Options& list = command.options;
  add_path_options(list, options->options);
  add_network_and_files(list, *options);
  add_transfer_options(list, options->options);
  add_perf_outputs(list, *options);
  add_run_options(list, options->options);
  add_parameter_option(list, options->options.config.qp.dcqcn);
  add_simulated_run_options(list, options->options);
  return command;
}

}  // namespace lw::gen
