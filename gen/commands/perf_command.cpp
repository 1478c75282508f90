// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/expectations.h"
#include "app/html_report.h"
#include "app/stop_signal.h"
#include "core/names.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/network_perf.h"
#include "gen/commands/perf_ranks.h"
#include "gen/perf/cm/rping.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/report/buffer_study.h"
#include "gen/perf/report/perf_files.h"
#include "gen/perf/report/perf_plots.h"
#include "gen/perf/report/perf_view.h"
#include "gen/perf/traffic/perf_run.h"
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

using perf::PerfPattern;
using wire::Operation, wire::Transport;

constexpr std::uint32_t kRpingSize = 64;  // rping's default, in bytes

/// The options of `roce-gen perf`.
struct PerfCommand {
  PerfOptions options;
  EndpointOptions endpoint;
  PeerOptions peer;
  NetworkOptions network;
  app::Expectations expectations;
  app::HtmlReport html;
  PerfPlots plots;
  std::string pcap;
  std::vector<std::string> points;  // capture points for `pcap`
  bool sim = false, all_sizes = false, json = false;
  bool forever = false;  // repeat the run until a signal
  bool headed = false;   // the header of the report is printed

  bool live = false;    // show the live view
  bool waits = false;   // hold the report back until the live view ends
  std::string waiting;  // the report that is held back

  std::string verify = kVerifyNames.front();
  std::string data;   // file that the messages carry
  std::string study;  // folder for the study of buffers
  std::string series;
  Duration most_skew = kUsualSkew;  // of the starts in a common run

  /// What is measured; with rping a latency.
  [[nodiscard]] PerfPattern pattern() const noexcept {
    return peer.cm.empty() ? options.pattern : PerfPattern::lat;
  }
  [[nodiscard]] bool latency() const noexcept { return is_latency(pattern()); }
  [[nodiscard]] const perf::PerfConfig& config() const noexcept { return options.config; }
};

using app::Given;

std::unexpected<Error> refuse(const std::string& option, const std::string& why) {
  return fail(option + ": " + why);
}

/// Checks the options of congestion control. Each side has only those of its own NIC.
Result<void> check_congestion(const Given& given, const PerfCommand& options) {
  if (given.has("--qp-rate") && options.config().qp.rate_control == transport::RateControl::none)
    return refuse("--qp-rate", "goes with --rate-control fixed or dcqcn");
  if (options.sim) return {};
  if (options.endpoint.rocev1 && options.config().qp.rate_control == transport::RateControl::dcqcn)
    return refuse("--rate-control",
                  "dcqcn goes with --encapsulation rocev2: RoCEv1 has no marks and no CNPs");
  const bool read = options.config().operation == Operation::read_request;
  const std::string elsewhere = given.first_of(read ? kReactionPoint : kNotificationPoint);
  if (elsewhere.empty()) return {};
  return refuse(elsewhere,
                read ? "the responder sends the data of READs: give it to `roce-gen respond`"
                     : "the responder receives the data and sends the CNPs: give it to "
                       "`roce-gen respond`");
}

/// Error: an option of the simulated path or hosts is given without --sim.
Result<void> refuse_simulated(const Given& given) {
  if (given.has("--live")) return refuse("--live", "goes with --sim");
  constexpr const char* kPath = "put a roce-impair with such a profile between the two sides";
  constexpr const char* kMachine = "over a port it is the machine's, and part of the measurement";
  constexpr const char* kReceives = "over a port the responder keeps a receive for each message";
  constexpr std::pair<const char*, const char*> kInstead[] = {
      {"--network", "a network is simulated"},
      {"--path", kPath},
      {"--delay", kPath},
      {"--distance", kPath},
      {"--path-buffer", kPath},
      {"--round-trips", "over a port give -n or --duration"},
      {"--loss", kPath},
      {"--mark", kPath},
      {"--seed", kPath},
      {"--rate", "a port has a fixed rate; --rate-control fixed with --qp-rate sends slower"},
      {"--nic-latency", kMachine},
      {"--receive-limit", kMachine},
      {"--nic-per-packet", kMachine},
      {"--nic-per-message", kMachine},
      {"--arbitration", kMachine},
      {"--receives", kReceives},
      {"--repost", kReceives},
      {"--responder-reads", "over a port both sides agree on --reads"},
      {"--credits", kReceives},
      {"--rnr-timer", kReceives},
      {"--reorder-packets", "over a port both sides keep 65536"},
      {"--study", "over a port give --buffers for one row of it"},
      {"--pcap-at", "over a port --pcap captures what passes it"}};
  for (const auto& [name, instead] : kInstead)
    if (given.has(name)) return refuse(name, fmt::format("goes with --sim only; {}", instead));
  return {};
}

/// Checks names of points of a path.
Result<void> check_points(const std::vector<std::string>& points) {
  for (const std::string& point : points)
    if (std::ranges::find(kCapturePoints, point) == kCapturePoints.end())
      return refuse("--pcap-at", fmt::format("expected {}, found \"{}\"",
                                             fmt::join(kCapturePoints, ", "), point));
  return {};
}

/// Checks the number of requests that are posted at once. One takes 101 bytes.
Result<void> check_posted(const perf::PerfConfig& config) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 26;
  const std::uint64_t depth = config.qp.tx_depth;
  const std::uint64_t each =
      config.iterations == 0 ? depth : std::min<std::uint64_t>(depth, config.iterations);
  if (each * config.qps <= kMost) return {};
  return refuse("--tx-depth", fmt::format("{} QPs with {} requests each: expected up to {} "
                                          "requests at once, which take 7 GB of memory",
                                          config.qps, each, kMost));
}

Result<void> check_simulated(const Given& given, const PerfCommand& options) {
  for (const char* name :
       {"--peer", "--verify", "--token", "--data", "--cm", "--peer-mac", "--address", "--mac",
        "--encapsulation", "--service", "--wait", "--idle", "--verbose", "--transport"})
    if (given.has(name)) return refuse(name, "goes with --port only");
  const perf::PerfConfig& config = options.config();
  if (const auto fits = check_posted(config); !fits) return fits;
  const bool endless = config.iterations == 0 || options.all_sizes;
  if (options.network.network.empty()) {
    if (const auto checked = check_points(options.points); !checked) return checked;
    if (!options.pcap.empty() && endless)
      return refuse("--pcap", "goes with -n and one size: every frame is kept in memory");
  }
  return {};
}

/// Checks the options with --cm. The peer runs rping, which determines the operations.
Result<void> check_cm(const Given& given, const PerfCommand& options) {
  for (const char* name :
       {"--op", "--pattern", "--transport", "--qps", "--imm", "--duration", "--series", "--all",
        "--service", "--selective-repeat", "--peer", "--verify"})
    if (given.has(name)) return refuse(name, "does not go with --cm, whose peer is `rping -s`");
  const std::uint32_t size = options.config().size;
  constexpr std::uint32_t kShortest = 17;  // rping's own limit: its text with a number
  if (size < kShortest || size > PingServer::kLongest)
    return refuse("--size", fmt::format("rping's messages have {} to {} B: as `rping -S`",
                                        kShortest, PingServer::kLongest));
  return {};
}

/// Checks the options with --data: messages carry the bytes of a file, on one QP, each message
/// once.
Result<void> check_data(const Given& given, const PerfCommand& options) {
  if (options.data.empty()) return {};
  if (!options.peer.device())
    return refuse("--data", "goes with --peer HOST:PORT of `roce-endpoint serve`");
  if (!options.config().sends_data()) return refuse("--data", "goes with --op write and send");
  for (const char* name : {"--qps", "--iterations", "--duration", "--all", "--pattern"})
    if (given.has(name)) return refuse(name, "does not go with --data: each byte is sent once");
  return {};
}

/// Checks the options for a peer that is a device, which roce-endpoint hands over.
Result<void> check_device(const Given& given, const PerfCommand& options) {
  if (options.peer.token.empty())
    return refuse("--token", "expected the token that `roce-endpoint serve` prints");
  if (options.endpoint.address.empty())
    return refuse("--address", "expected this port's address in the network of the device");
  for (const char* name : {"--selective-repeat", "--service", "--verify"})
    if (given.has(name)) return refuse(name, "goes with --peer IP, not with a device");
  if (options.config().qp.rate_control == transport::RateControl::dcqcn)
    return refuse("--rate-control", "the device's own CNPs and rates apply there: fixed only");
  return {};
}

/// Checks a run both ways over a port.
Result<void> check_both(const PerfCommand& options) {
  if (!options.config().both) return {};
  if (options.peer.device())
    return refuse("--bidirectional", "goes with --peer IP: roce-endpoint only answers");
  if (options.config().qp.transport != wire::Transport::rc)
    return refuse("--bidirectional", "goes with --transport rc");
  return {};
}

Result<void> check_port(const Given& given, const PerfCommand& options) {
  if (!options.peer.cm.empty()) {
    if (auto fits = check_cm(given, options); !fits) return fits;
    return refuse_simulated(given);
  }
  if (auto fits = check_both(options); !fits) return fits;
  const bool answered = options.latency() || options.all_sizes;
  if (options.options.selective && options.config().qp.transport != Transport::rc)
    return refuse("--selective-repeat", "goes with --transport rc: others do not retransmit");
  if (auto fits = check_transport(options.config(), answered); !fits) return fits;
  if (options.peer.ip.empty()) return refuse("--peer", "expected the responder's address");
  if (auto fits = check_data(given, options); !fits) return fits;
  if (!options.peer.device() && !options.peer.token.empty())
    return refuse("--token", "goes with --peer HOST:PORT of `roce-endpoint serve`");
  if (options.peer.device())
    if (auto fits = check_device(given, options); !fits) return fits;
  return refuse_simulated(given);
}

/// The report whose figures --expect names.
const JsonOutput& judged_output(const PerfCommand& command) {
  return command.network.network.empty() ? output_of(command.pattern()) : kNetworkOutput;
}

/// Checks the options of a run of several ranks.
Result<void> check_common(const Given& given, const PerfCommand& options) {
  const std::string pattern = fmt::format("--pattern {}", name_of(options.options.pattern));
  if (options.endpoint.port.empty())
    return refuse("--port", fmt::format("expected a port: {} is measured in real time", pattern));
  for (const char* name : {"--peer", "--token", "--cm", "--data", "--peer-mac", "--bidirectional",
                           "--forever", "--all", "--pcap", "--series", "--study", "--margin"})
    if (given.has(name)) return refuse(name, "does not go with " + pattern);
  if (options.config().qp.transport != wire::Transport::rc)
    return refuse("--transport", pattern + " goes with rc");
  if (const auto checked = options.expectations.check(kPerfRanksOutput); !checked) return checked;
  return refuse_simulated(given);
}

/// Checks that the given options may be combined. Errors name the remedy.
Result<void> check_usage(const Given& given, const PerfCommand& options) {
  if (options.sim == !options.endpoint.port.empty())
    return refuse("perf", "expected --sim, or --port and --peer");
  if (options.options.common()) return check_common(given, options);
  if (given.has("--start-skew"))
    return refuse("--start-skew", "goes with --pattern incast and all-to-all");
  if (!options.study.empty() && options.options.pattern != PerfPattern::blast)
    return refuse("--study", "goes with --pattern blast");
  if (!options.study.empty() &&
      (given.has("--expect") || given.has("--junit") || given.has("--html")))
    return refuse("--study",
                  "goes without --expect, --junit and --html: its rows are no final figures");
  if (!options.study.empty() && options.live) return refuse("--live", "goes without --study");
  if (const auto checked = options.expectations.check(judged_output(options)); !checked)
    return checked;
  if (options.forever && options.latency()) return refuse("--forever", "goes with --pattern bw");
  if (options.forever && (!options.pcap.empty() || !options.study.empty() || options.live))
    return refuse("--forever", "goes without --pcap, --study and --live");
  if (const auto fits = check_network_usage(given); !fits) return fits;
  if (options.latency() && given.has("--duration"))
    return refuse("--duration", "goes with --pattern bw and blast: give -n");
  if (!options.points.empty() && options.pcap.empty())
    return refuse("--pcap-at", "goes with --pcap FILE");
  if (const auto plain = check_file_name(options.pcap, true); !plain)
    return refuse("--pcap", plain.error().message);
  if (auto fits = check_congestion(given, options); !fits) return fits;
  return options.sim ? check_simulated(given, options) : check_port(given, options);
}

Result<perf::PerfConfig> config_of(const PerfCommand& command) {
  auto config = perf_config(command.options, command.sim);
  if (!config) return config;
  constexpr Duration kPeriod = std::chrono::seconds(5);
  const bool given = config->duration > Duration{} || config->iterations > 0;
  if (command.forever && !given) config->duration = kPeriod;
  // The default of perftest. A simulated bandwidth run finds a sufficient number instead.
  constexpr std::uint64_t kIterations = 5000;
  if (config->iterations == 0 && !command.sim) config->iterations = kIterations;
  return config;
}

Result<PerfOutcome> simulate(const PerfCommand& command, const perf::PerfConfig& config,
                             const sim::PerfHook& hook) {
  PerfOutcome outcome;
  if (command.latency()) {
    outcome.latency = sim::run_latency(config, hook);
  } else {
    outcome.bandwidth = sim::run_bandwidth(config, hook);
  }
  return outcome;
}

/// Prints a part of the report; while the live view is shown, holds it back.
void print_part(PerfCommand& command, const std::string& text) {
  if (command.waits) {
    command.waiting += text;
  } else {
    print_report(text);
  }
}

/// Evaluates and prints the result of one size.
void print_outcome(PerfCommand& command, const perf::PerfConfig& config,
                   const PerfOutcome& outcome) {
  const PerfReport report{config, outcome, command.pattern()};
  const JsonOutput& output = output_of(report.pattern);
  const std::string json = command.expectations.judged(
      command.json || command.html.wanted(), [&] { return perf_json(report); },
      fmt::format("{} B", config.size), &output);
  command.html.add_report(json, &output);
  command.plots.add(config.size, outcome, command.sim ? config.nic.rate_bps : 0);
  print_part(command, command.json ? json : perf_row(report));
}

/// Measures and prints each size. Errors: of a measurement; failed work requests.
Result<void> run_sizes(PerfCommand& command, perf::PerfConfig config, const PerfMeasure& measure) {
  if (!command.json && !std::exchange(command.headed, true))
    print_part(command, perf_heading(command.pattern()));
  std::uint64_t failed = 0, wrong = 0;
  std::uint32_t stuck = 0;
  std::optional<perf::Failure> first;
  for (const std::uint32_t size : sizes_of(config, command.all_sizes)) {
    config.size = size;
    const auto outcome = measure(config);
    if (!outcome) return std::unexpected(outcome.error());
    print_outcome(command, config, *outcome);
    failed += outcome->failed();
    if (!first) first = outcome->failure();
    stuck = std::max(stuck, outcome->stuck_qps());
    wrong += outcome->wrong;
    if (outcome->incomplete())
      return fail("stopped by a signal: the results are incomplete", ExitCode::failed);
  }
  if (failed > 0) return fail(failure_text(failed, first), ExitCode::failed);
  if (stuck > 0)
    return fail(fmt::format("{} of {} QPs wait for ever: a packet was lost, no later one shows it, "
                            "and --timeout 0 sets no timer",
                            stuck, command.latency() ? 1 : config.qps),
                ExitCode::failed);
  if (wrong > 0) return fail(wrong_text(wrong), ExitCode::failed);
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
  auto ran = run_repeatedly(command, config, run, *config.stop);
  view.end();
  print_report(std::exchange(command.waiting, {}));
  report_at_end(series->close());
  if (!ran || command.pcap.empty()) return ran;
  return capture.write(command.pcap);
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

Result<void> run_live(PerfCommand& command, const perf::PerfConfig& config,
                      const std::atomic<bool>& stop) {
  auto series = PerfSeries::open(command.series);
  if (!series) return std::unexpected(series.error());
  const auto run = [&](const PerfMeasure& measure) {
    return run_repeatedly(command, config, measure, stop);
  };
  command.peer.verify = verify_of(command);
  auto ran =
      run_in_real_time(command.endpoint, command.peer, command.latency(), *series, stop, run);
  report_at_end(series->close());
  if (ran && !command.json) print_report(verified_line(command.peer.verify));
  return ran;
}

/// Error: an output is also an input or another output.
Result<void> check_perf_files(const PerfCommand& command) {
  std::vector<NamedFile> inputs = {{"--path", command.options.path}, {"--data", command.data}};
  std::vector<NamedFile> outputs = {{"--pcap", command.pcap, true},
                                    {"--series", command.series},
                                    command.expectations.junit(),
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

ExitCode perf(PerfCommand& command, const std::atomic<bool>& stop) {
  auto config = config_of(command);
  if (!config) return print_error(config.error());
  if (const auto apart = check_perf_files(command); !apart) return print_error(apart.error());
  if (const auto read = read_data(command, *config); !read) return print_error(read.error());
  if (command.sim) config->stop = &stop;
  if (command.options.common())
    return perf_as_rank({.perf = command.options,
                         .endpoint = command.endpoint,
                         .verify = verify_of(command),
                         .most_skew = command.most_skew,
                         .expectations = command.expectations,
                         .html = command.html,
                         .json = command.json},
                        *config, stop);
  const auto ran = command.sim ? run_simulated(command, *config) : run_live(command, *config, stop);
  if (!command.json) print_report(command.expectations.text());
  for (report::Plot& plot : command.plots.plots()) command.html.add_plot(std::move(plot));
  command.html.add_port("--port", command.endpoint.port);
  const ExitCode expected = command.expectations.finish("roce-gen perf");
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
  list.add(
          "--pcap-at", app::texts(options.points), "POINT",
          fmt::format("simulated point to capture at: {}, or FROM:TO of a network; may be repeated",
                      fmt::join(kCapturePoints, ", ")))
      .defaults_to("client-out, server-out");
  list.add("--series", app::text(options.series), "FILE.csv",
           "time series of rate, alpha, outstanding, retransmitted and RTT of each QP");
  list.add("--study", app::text(options.study), "DIR",
           "of a blast: how many buffers fill the channel at each distance; prints the table, "
           "writes buffers.csv and buffers.svg");
  options.expectations.add_options(list);
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
                                     {options->expectations, options->html, options->json,
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
