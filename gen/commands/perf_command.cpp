// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/perf_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/stop_signal.h"
#include "core/names.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/measure_options.h"
#include "gen/commands/perf_ranks.h"
#include "gen/perf/cm/rping.h"
#include "gen/perf/report/buffer_study.h"
#include "gen/perf/report/perf_files.h"
#include "gen/perf/report/perf_view.h"
#include "gen/study/sweep.h"
#include "sim/perf.h"

namespace lw::gen {
namespace {

constexpr const char* kPerfExamples =
    R"(roce-gen perf --sim --path apn-380km --op write -s 64KiB -q 4 -t 2048
roce-gen perf --sim --path apn-380km --op read -a -q 16 --json
roce-gen perf --sim --delay 1ms --pattern lat --op send -s 64
roce-gen perf --sim --network long-haul-incast-100km --rate-control dcqcn --duration 200ms
roce-gen perf --sim --delay 0us --pattern blast --op write --study out
roce-gen perf --port memif:/tmp/lw.sock --peer 198.18.0.2 --pattern lat --op write -s 64
roce-gen perf --port eth1 --address 192.0.2.1 --peer 192.0.2.2:18515 --token TOKEN --op write
mpirun -n 9 --hostfile hosts roce-gen perf --pattern incast --port eth1 --op write -q 4
roce-gen perf --port eth1 --address 192.0.2.1 --cm 192.0.2.2:7174 -n 100 -s 64
roce-gen perf --sim --path apn-380km -- ib_write_bw -d mlx5_2 -R -t 2048 -q 4 -F --report_gbits)";

constexpr const char* kPerfNotes =
    R"(A line of perftest may follow --, from its program's name on. Its options keep their meaning and
their defaults, are ignored with a note on stderr, or are refused with the reason.)";

constexpr std::uint32_t kRpingSize = 64;  // rping's default, in bytes
/// The default of perftest. A simulated bandwidth run finds a sufficient number instead.
constexpr std::uint64_t kIterations = 5000;

Result<perf::PerfConfig> config_of(const PerfCommand& command) {
  auto config = perf_config(command.options, command.sim);
  if (!config) return config;
  constexpr Duration kPeriod = std::chrono::seconds(5);
  const bool given = config->duration > Duration{} || config->iterations > 0;
  if (command.forever && !given) config->duration = kPeriod;
  if (config->iterations == 0 && !command.sim) config->iterations = kIterations;
  return config;
}

Result<PerfOutcome> simulate(const PerfCommand& command, const perf::PerfConfig& config,
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

/// Returns the run with the values of a combination.
Result<perf::PerfConfig> config_at(const PerfCommand& command, const experiment::Point& point) {
  PerfOptions changed;
  app::Options list;
  add_perf_options(list, changed);
  add_run_options(list, changed);
  add_transport_option(list, changed.config.qp);
  changed = command.options;
  for (const auto& [name, value] : point) {
    std::string option = "--" + name;
    std::ranges::replace(option, '_', '-');
    const app::Option* found = list.find(option);
    if (found == nullptr || found->value.is_flag || option == "--pattern")
      return fail(fmt::format(
          "--sweep: expected an option of a run with a value, such as size, found \"{}\"", name));
    if (const auto read = found->read(value); !read)
      return fail(fmt::format("--sweep: {}: {}", option, read.error()));
  }
  auto config = perf_config(changed, command.sim);
  if (!config) return fail("--sweep: " + config.error().message);
  if (config->iterations == 0 && config->duration == Duration{} && !command.sim)
    config->iterations = kIterations;
  return config;
}

Sweep sweep_of(const PerfCommand& command) {
  const std::string_view pattern = name_of(command.pattern());
  std::vector<std::string> figures = command.latency()
                                         ? std::vector<std::string>{"t_typical_usec", "t_avg_usec"}
                                         : std::vector<std::string>{"bw_average_gbps"};
  return {
      fmt::format("perf-{}", pattern),
      fmt::format("roce-gen perf {}", command.sim ? "--sim" : "through " + command.endpoint.port),
      command.sweep, command.repeats, std::move(figures)};
}

/// Runs all combinations of --sweep, and writes their files. Errors: of a combination, before the
/// first run; those of a run.
Result<void> sweep_over(PerfCommand& command, const PerfMeasure& measure,
                        const std::atomic<bool>& stop) {
  Sweep sweep = sweep_of(command);
  for (const experiment::Point& point : experiment::points_of(command.sweep))
    if (auto config = config_at(command, point); !config) return std::unexpected(config.error());
  const std::string folder = command.out.empty() ? sweep.profile.name + "-results" : command.out;
  std::vector<NamedFile> outputs = {command.html.file()};
  for (const std::string& file : sweep.files(folder)) outputs.push_back({"--out", file});
  if (auto apart = check_outputs({{"--path", command.options.path}}, outputs); !apart) return apart;
  std::uint64_t run = 0;
  sweep.run = [&](const experiment::Point& point) -> Result<report::Json> {
    auto config = config_at(command, point);
    if (!config) return std::unexpected(config.error());
    config->stop = &stop;
    config->path.seed += run++;
    const auto outcome = measure(*config);
    if (!outcome) return std::unexpected(outcome.error());
    report::Json values = perf_values({*config, *outcome, command.pattern()});
    values.erase("responder");
    values["wrong"] = outcome->wrong;
    if (outcome->wrong > 0) values["failure"] = wrong_text(outcome->wrong);
    return values;
  };
  return run_sweep(sweep, folder, stop, {command.of_sweep, command.html});
}

/// Prints a part of the report; while the live view is shown, holds it back.
void print_part(PerfCommand& command, const std::string& text) {
  if (command.waits) {
    command.waiting += text;
  } else {
    print_report(text);
  }
}

/// Closes the files of the run, unless they are closed.
void close_files(PerfCommand& command) {
  if (const auto close = std::exchange(command.close_files, {})) close();
}

/// Judges and prints the result of one size.
void print_outcome(PerfCommand& command, const perf::PerfConfig& config,
                   const PerfOutcome& outcome) {
  const PerfReport report{config, outcome, command.pattern()};
  const JsonOutput& output = output_of(report.pattern);
  Judge judge = command.verdicts.judge();
  observe_perf(judge, report, command.forever);
  const std::string json = command.verdicts.judged(
      judge, command.json || command.html.wanted(), [&] { return perf_json(report); },
      fmt::format("{} B", config.size), &output);
  command.html.add_report(json, output, command.verdicts.last(), page_rows(report));
  command.plots.add(config.size, outcome, command.sim ? config.nic.rate_bps : 0);
  print_part(command, command.json ? json : perf_row(report));
}

/// Measures and prints each size, until one is incomplete. Errors: of a measurement.
Result<void> run_sizes(PerfCommand& command, perf::PerfConfig config, const PerfMeasure& measure) {
  if (!command.json && !std::exchange(command.headed, true))
    print_part(command, perf_heading(command.pattern()));
  const std::vector<std::uint32_t> sizes = sizes_of(config, command.all_sizes);
  for (const std::uint32_t size : sizes) {
    config.size = size;
    const auto outcome = measure(config);
    if (!outcome) return std::unexpected(outcome.error());
    if (!command.forever && (size == sizes.back() || outcome->incomplete())) close_files(command);
    print_outcome(command, config, *outcome);
    if (outcome->incomplete()) break;
  }
  return {};
}

/// Measures each size once or, with --forever, again and again until a signal; in a simulation each
/// time with the next seed.
Result<void> run_repeatedly(PerfCommand& command, perf::PerfConfig config,
                            const PerfMeasure& measure, const std::atomic<bool>& stop) {
  for (;; ++config.path.seed) {
    auto ran = run_sizes(command, config, measure);
    if (command.forever && stop.load(std::memory_order_relaxed)) return {};
    if (!ran || !command.forever) return ran;
    standard_output().flush();
  }
}

std::vector<CapturePoint> points_of(const std::vector<std::string>& names) {
  if (names.empty()) return {CapturePoint::client_out, CapturePoint::server_out};
  std::vector<CapturePoint> points;
  for (std::size_t i = 0; i < kCapturePoints.size(); ++i)
    if (std::ranges::find(names, kCapturePoints[i]) != names.end())
      points.push_back(static_cast<CapturePoint>(i));
  return points;
}

Result<void> run_simulated(PerfCommand& command, const perf::PerfConfig& config) {
  PerfCapture capture(points_of(command.points));
  auto series = PerfSeries::open(command.series);
  if (!series) return std::unexpected(series.error());
  PerfView view("roce-gen perf --sim", command.live, sizes_of(config, command.all_sizes).size());
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
  close_files(command);
  return ran;
}

/// Returns what was checked, where that is not all.
std::string verified_line(Verify verify) {
  if (verify == Verify::all) return {};
  return fmt::format("Checked: each packet's ICRC and each message's length; the bytes of {}\n",
                     verify == Verify::sampled ? "one message in 16" : "no message");
}

Verify verify_of(const PerfCommand& command) {
  return static_cast<Verify>(std::ranges::find(kVerifyNames, command.verify) -
                             kVerifyNames.begin());
}

/// Warns of packets that only our own responder takes, and makes room for them.
void warn_of_payload(PerfCommand& command) {
  const std::uint32_t payload = command.config().qp.mtu;
  command.endpoint.packet_payload = std::max(command.endpoint.packet_payload, payload);
  if (transport::is_path_mtu(payload)) return;
  fmt::print(stderr,
             "warning: --packet-payload {}: real responders refuse FIRST and MIDDLE packets of "
             "another size than the path MTU\n",
             payload);
}

Result<void> run_live(PerfCommand& command, const perf::PerfConfig& config,
                      const std::atomic<bool>& stop) {
  auto series = PerfSeries::open(command.series);
  if (!series) return std::unexpected(series.error());
  const auto run = [&](const PerfMeasure& measure) {
    return run_repeatedly(command, config, measure, stop);
  };
  warn_of_payload(command);
  command.peer.verify = verify_of(command);
  command.close_files = [&] { report_at_end(series->close()); };
  IntervalReport intervals(command.interval, command.json);
  auto ran = run_in_real_time(command.endpoint, command.peer, command.latency(), *series, intervals,
                              stop, run);
  close_files(command);
  if (ran && !command.json) print_report(verified_line(command.peer.verify));
  return ran;
}

/// Error: an output is also an input or another output.
Result<void> check_perf_files(const PerfCommand& command) {
  std::vector<NamedFile> inputs = {{"--path", command.options.path}, {"--data", command.data}};
  std::vector<NamedFile> outputs = {{"--pcap", command.pcap, true},
                                    {"--series", command.series},
                                    command.verdicts.junit(),
                                    command.html.file()};
  if (!command.study.empty())
    for (const std::string& file : study_files(command.study)) outputs.push_back({"--study", file});
  nic::add_files(command.endpoint.port, inputs, outputs);
  return check_outputs(inputs, outputs);
}

/// Reads the file that the messages carry, and sets their number.
Result<void> read_data(PerfCommand& command, perf::PerfConfig& config) {
  if (command.data.empty()) return {};
  constexpr std::uint64_t kMost = 1u << 30;  // the data is in memory three times
  note_input(command.data);
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(command.data, error);
  if (error) return refuse("--data", fmt::format("\"{}\": {}", command.data, error.message()));
  if (size == 0 || size > kMost)
    return refuse("--data",
                  fmt::format("\"{}\" has {} bytes: expected 1 to {}", command.data, size, kMost));
  command.peer.data.resize(size);
  std::ifstream file(command.data, std::ios::binary);
  file.read(reinterpret_cast<char*>(command.peer.data.data()), static_cast<std::streamsize>(size));
  if (!file) return refuse("--data", fmt::format("\"{}\" cannot be read", command.data));
  config.iterations = (size + config.size - 1) / config.size;
  return {};
}

/// Runs a sweep in a simulation, or through a port that stays open.
ExitCode sweep_command(PerfCommand& command, const std::atomic<bool>& stop) {
  Result<void> ran;
  if (command.sim) {
    ran = sweep_over(
        command, [&](const perf::PerfConfig& config) { return simulate(command, config, {}); },
        stop);
  } else {
    auto series = PerfSeries::open({});
    if (!series) return print_error(series.error());
    IntervalReport none;
    command.peer.verify = verify_of(command);
    ran = run_in_real_time(
        command.endpoint, command.peer, command.latency(), *series, none, stop,
        [&](const PerfMeasure& measure) { return sweep_over(command, measure, stop); });
  }
  const ExitCode judged = command.of_sweep.finish("roce-gen perf");
  return ran ? judged : std::max(judged, print_error(ran.error()));
}

ExitCode perf(PerfCommand& command, const std::atomic<bool>& stop) {
  auto config = config_of(command);
  if (!config) return print_error(config.error());
  say_path(command.options);
  if (const auto apart = check_perf_files(command); !apart) return print_error(apart.error());
  if (const auto read = read_data(command, *config); !read) return print_error(read.error());
  if (command.sim) config->stop = &stop;
  if (!command.sweep.empty()) return sweep_command(command, stop);
  if (command.options.common())
    return perf_as_rank({.perf = command.options,
                         .endpoint = command.endpoint,
                         .verify = verify_of(command),
                         .most_skew = command.most_skew,
                         .verdicts = command.verdicts,
                         .html = command.html,
                         .json = command.json},
                        *config, stop);
  const auto ran = command.sim ? run_simulated(command, *config) : run_live(command, *config, stop);
  for (report::Plot& plot : command.plots.plots()) command.html.add_plot(std::move(plot));
  command.html.add_port("--port", command.endpoint.port);
  if (!command.json) print_report(command.verdicts.all_text());
  const ExitCode expected = command.verdicts.finish("roce-gen perf");
  return std::max(expected, ran ? ExitCode::done : print_error(ran.error()));
}

/// Runs the study of buffers. A signal ends it at once, because the table needs all rows.
ExitCode study(PerfCommand& command) {
  const auto config = config_of(command);
  if (!config) return print_error(config.error());
  if (const auto apart = check_perf_files(command); !apart) return print_error(apart.error());
  const auto studied = study_buffers(*config, command.study, command.json);
  return studied ? ExitCode::done : print_error(studied.error());
}

/// Adds the options for a measurement through a port, in real time.
void add_port_options(app::Options& list, PerfCommand& options) {
  list.add("--port", app::text(options.endpoint.port), "PORT",
           "port to measure through, in real time");
  list.add("--peer", app::text(options.peer.ip), "IP|HOST:PORT",
           "address of `roce-gen respond`; or where `roce-endpoint serve` hands over the QPs of an "
           "RDMA device");
  list.add("--data", app::text(options.data), "FILE",
           "the messages carry this file, once, in place of a pattern");
  list.add("--verify", app::choice(options.verify, {kVerifyNames.begin(), kVerifyNames.end()}),
           "WHAT",
           "messages that both sides compare byte by byte: all, sampled (one in 16) or none; the "
           "ICRC of each packet is always checked");
  list.add("--token", app::text(options.peer.token), "T", "token of that roce-endpoint");
  list.add("--cm", app::text(options.peer.cm), "HOST:SERVICE",
           "instead of --peer: `rping -s` there, or another `respond --cm SERVICE`; measures whole "
           "pings");
  list.add("--peer-mac", app::text(options.peer.mac), "MAC",
           "MAC address of the responder, or of the gateway to it")
      .defaults_to("resolved");
  list.add("--start-skew", app::parsed(app::read_time, options.most_skew), "TIME",
           "under mpirun: largest time between the starts of the ranks, with the error of their "
           "clocks")
      .defaults_to("1ms");
  add_endpoint_options(list, options.endpoint);
}

void add_output_options(app::Options& list, PerfCommand& options) {
  list.add("--pcap", app::text(options.pcap), "FILE",
           "capture of what leaves both simulated ports (with -n), or passes the real port");
  list.add("--pcap-at", app::texts(options.points), "POINT",
           fmt::format("simulated point to capture at: {}, or FROM:TO of a network",
                       fmt::join(kCapturePoints, ", ")))
      .defaults_to("client-out, server-out");
  list.add("--series", app::text(options.series), "FILE.csv",
           "time series of rate, alpha, outstanding, retransmitted and RTT of each QP");
  list.add("--interval", app::parsed(read_interval, options.interval), "TIME",
           "line with rate, packets retransmitted, losses and round trip, or with latencies, each "
           "TIME of a run; a number is in seconds")
      .defaults_to("none");
  list.add("--sweep",
           app::each(parse_sweep_parameter,
                     [&options](const config::ExperimentParameter& each) {
                       options.sweep.push_back(each);
                     }),
           "OPTION=VALUE,...",
           "run each value of an option of the run, such as size=4K,64K,1M, in every combination");
  list.add("-o,--out", app::text(options.out), "DIR",
           "folder for the table, CSV and plot of a sweep")
      .defaults_to("perf-PATTERN-results");
  list.add("--repeats", app::number(options.repeats, 1u, 10'000u), "N",
           "runs of each combination of a sweep, with other seeds");
  list.add("--study", app::text(options.study), "DIR",
           "of a blast: how many buffers fill the channel at each distance; prints the table, "
           "writes buffers.csv and buffers.svg");
  options.verdicts.add_options(list);
  options.verdicts.add_strict_option(list);
  options.html.add_option(list);
  list.add_flag("-J,--json", options.json, "print one line of JSON per size");
  list.add_flag("--live", options.live, report::kLiveHelp);
}

}  // namespace

app::Command perf_command() {
  auto options = std::make_shared<PerfCommand>();
  app::Command command{
      .name = "perf",
      .help = "Measure RDMA as perftest does: over a simulated path, or through a port",
      .examples = kPerfExamples,
      .notes = kPerfNotes,
      .check =
          [options](const app::Given& given) {
            if (!options->peer.cm.empty() && !given.has("--size"))
              options->options.config.size = kRpingSize;
            return check_usage(given, *options);
          },
      .run =
          [options] {
            options->endpoint.pcap = options->pcap;
            if (!options->study.empty()) return study(*options);
            const std::atomic<bool>& stop = stop_on_signals();
            if (!options->network.network.empty())
              return perf_on_network(options->network, options->options,
                                     {options->verdicts, options->html, options->json,
                                      options->series, options->pcap, options->points},
                                     stop);
            return perf(*options, stop);
          },
  };
  app::Options& list = command.options;
  list.add_flag("--sim", options->sim, "simulate both hosts and the path, in virtual time");
  add_port_options(list, *options);
  add_perf_options(list, options->options);
  add_network_options(list, options->network);
  add_transport_option(list, options->options.config.qp);
  list.add_flag("--forever", options->forever,
                "repeat the run until a signal, with a row for each --duration (5 s unless given)");
  list.add_flag("-a,--all", options->all_sizes, "measure every power of two, 2 B to 8 MiB");
  add_output_options(list, *options);
  add_run_options(list, options->options);
  return command;
}

}  // namespace lw::gen
