// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/html_report.h"
#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "core/counted.h"
#include "core/output.h"
#include "core/quantity.h"
#include "gen/endpoint/client.h"
#include "gen/endpoint/commands.h"
#include "gen/experiment/sweep.h"
#include "gen/perf/options/endpoint_options.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/plan/plan.h"
#include "gen/perf/report/perf_plots.h"
#include "gen/perf/report/perf_report.h"
#include "gen/perf/session/handover.h"
#include "gen/questions.h"
#include "sim/perf.h"

namespace lw::gen::endpoint {
namespace {

using wire::Operation, wire::Transport;

using Pattern = perf::PerfPattern;

constexpr const char* kMeasureNotes =
    R"(The server is `roce-endpoint serve`, which prints the command line. Each size is a session of its
own. Every message has its own bytes, and both sides check what they receive: --no-check measures
without that. A request that fails ends the run with the status of its completion.)";

struct MeasureCommand {
  Pattern pattern = Pattern::bw;
  VerbsClientOptions options;
  perf::PerfConfig config;
  ClassOptions traffic;
  bool all_sizes = false, no_check = false, json = false;
  bool forever = false;  // repeat the run until a signal
  config::ExperimentParameters sweep;
  std::string out;                // output folder of a sweep
  std::uint32_t repeats = 1;      // repeats of each cell of a sweep
  std::optional<Duration> delay;  // one-way delay of the path
  std::optional<double> rate;     // link rate in bit/s

  [[nodiscard]] bool latency() const noexcept { return is_latency(pattern); }
};

Result<void> check_measure(const app::Given& given, const MeasureCommand& command) {
  const perf::PerfConfig& config = command.config;
  if (auto fits = check(config, command.pattern); !fits) return fits;
  if (command.options.verbs.inlined && !config.sends_data())
    return fail("--inline goes with --op send and write");
  if (command.pattern == Pattern::lat && command.options.verbs.events &&
      config.operation == Operation::write && !config.immediate)
    return fail("--poll event: the echo of a WRITE raises no event: add --imm, or poll busily");
  if (config.both && (config.qp.transport != Transport::rc || command.options.verbs.events))
    return fail("--bidirectional goes with --transport rc and --poll busy");
  if (command.sweep.empty()) {
    for (const char* name : {"--out", "--repeats", "--delay", "--rate"})
      if (given.has(name)) return fail(fmt::format("{} goes with --sweep", name));
  } else if (command.all_sizes || command.json) {
    return fail("--sweep: goes without -a and --json: it writes a JSON file");
  }
  if (!command.sweep.empty() && (given.has("--expect") || given.has("--junit")))
    return fail("--sweep: goes without --expect and --junit: its files have every run");
  if (command.forever && (command.all_sizes || !command.sweep.empty()))
    return fail("--forever: goes without -a and --sweep");
  if (given.has("--duration") && given.has("--iterations"))
    return fail("--duration: replaces -n: pass one of them");
  if (config.size == 0 || config.size > 1u << 31) return fail("--size: expected 1 B to 2 GiB");
  return check_transport(config, command.latency() || command.all_sizes);
}

/// Returns the run of one message size, with the defaults of the pattern.
perf::PerfConfig config_of(const MeasureCommand& command, const Device& device,
                           std::uint32_t size) {
  perf::PerfConfig config = command.config;
  config.size = size;
  constexpr Duration kPeriod = std::chrono::seconds(5);
  if (command.forever && config.duration == Duration{} && config.iterations == 0)
    config.duration = kPeriod;
  if (config.iterations == 0) config.iterations = command.pattern == Pattern::bw ? 5000 : 1000;
  if (config.qp.mtu == 0) config.qp.mtu = device.mtu();
  config.qp.max_outstanding_wqe = config.qp.tx_depth;
  // The third ping of the study: a WRITE to a passive peer, and a READ that fetches it back.
  config.read_back = reads_back(config, command.pattern);
  return config;
}

/// Returns the sizes of a run once or, with --forever, again and again.
std::optional<std::uint32_t> next_size(const MeasureCommand& command, std::size_t done) {
  const std::vector<std::uint32_t> sizes = sizes_of(command.config, command.all_sizes);
  if (!command.forever && done >= sizes.size()) return std::nullopt;
  return sizes[done % sizes.size()];
}

/// What a command writes beside its rows.
struct MeasureOutputs {
  app::Verdicts verdicts{kEndpointQuestions};
  app::Verdicts of_sweep{kExperimentQuestions};
  app::HtmlReport page;
};

Result<void> measure_all(const MeasureCommand& command, const std::atomic<bool>& stop,
                         MeasureOutputs& outputs) {
  app::HtmlReport& page = outputs.page;
  PerfPlots plots;
  auto measurement = VerbsClient::open(command.options, stop);
  if (!measurement) return std::unexpected(measurement.error());
  bool has_header = command.json;
  for (std::size_t done = 0; !stop.load(std::memory_order_relaxed); ++done) {
    const auto size = next_size(command, done);
    if (!size) break;
    const perf::PerfConfig config = config_of(command, measurement->device(), *size);
    const auto outcome = measurement->run(config, command.latency());
    if (!outcome && command.forever && stop.load(std::memory_order_relaxed)) break;
    if (!outcome) return std::unexpected(outcome.error());
    if (!std::exchange(has_header, true)) print_report(perf_heading(command.pattern));
    const PerfReport report{config, *outcome, command.pattern};
    Judge judge = outputs.verdicts.judge();
    observe_perf(judge, report, command.forever);
    const std::string json = outputs.verdicts.judged(
        judge, command.json || page.wanted(), [&] { return perf_json(report); },
        fmt::format("{} B", *size), &output_of(report.pattern));
    print_report(command.json ? json : perf_row(report));
    if (command.forever) {
      standard_output().flush();
    } else {
      page.add_report(json, output_of(report.pattern), outputs.verdicts.last(), page_rows(report));
      plots.add(*size, *outcome, 0);
    }
  }
  if (!command.json) print_report(outputs.verdicts.all_text());
  for (report::Plot& plot : plots.plots()) page.add_plot(std::move(plot));
  return {};
}

/// Returns the figure that a pattern's prediction is compared with.
const char* figure_of(Pattern pattern) noexcept {
  if (pattern == Pattern::bw) return "bw_average_gbps";
  if (pattern == Pattern::lat) return "t_typical_usec";
  return pattern == Pattern::blast ? "throughput_gbps" : "one_way_usec";
}

/// Adds what plan computes, and the simulator's result, for the path that --delay and --rate
/// describe.
void add_predictions(const MeasureCommand& command, const Device& device, perf::PerfConfig config,
                     report::Json& values) {
  if (!command.delay) return;
  config.path.one_way = *command.delay;
  config.nic.rate_bps = command.rate.value_or(device.link_bps());
  if (command.latency()) {
    const double way = static_cast<double>((config.path.one_way + 2 * config.nic.latency).count());
    const bool echoed = config.sends_data();
    values["plan_usec"] = (way * (echoed ? 1 : 2) + perf::link_ns_of_message(config)) / 1000;
    config.duration = {};
    config.iterations = std::min<std::uint64_t>(config.iterations, 100);
    values["sim_usec"] = sim::run_latency(config).ns.mean() / 1000;
    return;
  }
  const Plan planned = computed_plan(config);
  if (planned.throughput.known()) values["plan_gbps"] = planned.throughput.bps / 1e9;
  values["plan_buffers"] = planned.needed;
  values["sim_gbps"] = sim::run_bandwidth(config).average_bps / 1e9;
}

void add_all_options(app::Options& list, MeasureCommand& command);

/// Returns the command with the values of a combination.
Result<MeasureCommand> command_at(const MeasureCommand& command, const experiment::Point& point) {
  MeasureCommand changed = command;
  app::Options list;
  add_all_options(list, changed);
  for (const auto& [name, value] : point) {
    std::string option = "--" + name;
    std::ranges::replace(option, '_', '-');
    const app::Option* found = list.find(option);
    if (found == nullptr || found->value.is_flag)
      return fail(fmt::format(
          "--sweep: expected an option with a value, such as size, found \"{}\"", name));
    if (const auto read = found->read(value); !read)
      return fail(fmt::format("--sweep: {}: {}", option, read.error()));
  }
  const auto traffic = load_device_class(changed.traffic);
  if (!traffic) return std::unexpected(traffic.error());
  changed.options.traffic = qp_class_of(*traffic);
  if (auto fits = check_measure(app::Given({}), changed); !fits)
    return std::unexpected(fits.error());
  return changed;
}

Sweep sweep_of(const MeasureCommand& command) {
  std::vector<std::string> figures = {figure_of(command.pattern)};
  if (command.delay) {
    const bool latency = command.latency();
    figures.insert(figures.end(),
                   {latency ? "plan_usec" : "plan_gbps", latency ? "sim_usec" : "sim_gbps"});
  }
  const std::string_view pattern = name_of(command.pattern);
  return {fmt::format("endpoint-{}", pattern),
          fmt::format("roce-endpoint {} with {}", pattern, command.options.connect), command.sweep,
          command.repeats, std::move(figures)};
}

/// Checks all combinations before the first run.
Result<void> check_sweep(const MeasureCommand& command) {
  for (const config::ExperimentParameter& parameter : command.sweep)
    for (const config::ExperimentValue& value : parameter.values)
      if (auto at = command_at(command, {{parameter.name, value.text}}); !at)
        return std::unexpected(at.error());
  return {};
}

Result<void> measure_sweep(const MeasureCommand& command, const std::atomic<bool>& stop,
                           MeasureOutputs& to) {
  Sweep sweep = sweep_of(command);
  const std::string folder = command.out.empty() ? sweep.profile.name + "-results" : command.out;
  if (auto fits = check_sweep(command); !fits) return fits;
  std::vector<NamedFile> outputs = {to.page.file(), to.verdicts.junit()};
  for (const std::string& file : sweep.files(folder)) outputs.push_back({"--out", file});
  if (auto apart = check_outputs({}, outputs); !apart) return apart;
  sweep.run = [&](const experiment::Point& point) -> Result<report::Json> {
    const auto at = command_at(command, point);
    if (!at) return std::unexpected(at.error());
    auto measurement = VerbsClient::open(at->options, stop);
    if (!measurement) return std::unexpected(measurement.error());
    const perf::PerfConfig config =
        config_of(*at, measurement->device(), sizes_of(at->config, false).front());
    const auto outcome = measurement->run(config, at->latency());
    if (!outcome) return std::unexpected(outcome.error());
    report::Json values = perf_values({config, *outcome, at->pattern});
    values.erase("server");
    values["wrong"] = outcome->wrong;
    add_predictions(*at, measurement->device(), config, values);
    if (outcome->wrong > 0)
      values["failure"] =
          fmt::format("{} arrived with other bytes", counted(outcome->wrong, "message"));
    return values;
  };
  return run_sweep(sweep, folder, stop, {to.of_sweep, to.page});
}

void add_connection_options(app::Options& list, MeasureCommand& command) {
  VerbsClientOptions& options = command.options;
  list.add("--peer", app::text(options.connect), "HOST:PORT",
           "server; the port may be left out: 18515")
      .required();
  list.add("--token", app::text(options.token), "TOKEN", "token that the server printed")
      .required();
  list.add("--device", app::text(options.device.name), "NAME", "RDMA device")
      .defaults_to("the one on the way to the server");
  list.add("--gid", app::number(options.device.gid), "N", "index of the GID")
      .defaults_to("by the address of the TCP connection");
  list.add("--wait", app::parsed(parse_duration, options.wait), "TIME",
           "longest wait for the TCP connection")
      .defaults_to("10s");
}

void add_message_options(app::Options& list, MeasureCommand& command) {
  perf::PerfConfig& config = command.config;
  add_operation_options(list, config);
  list.add("-s,--size", app::parsed(read_message_size, config.size), "SIZE",
           "message size, in bytes; K, M and G are binary, as in perftest")
      .defaults_to(command.latency() ? "64" : "64KiB");
  list.add_flag("-a,--all", command.all_sizes, "measure every power of two, 2 B to 8 MiB");
  list.add("-n,--iterations", app::number(config.iterations), "N",
           command.pattern == Pattern::bw ? "messages per QP; 0: 5000" : "messages; 0: 1000");
  if (command.pattern == Pattern::ping) return;
  list.add("--duration", app::parsed(read_run_length, config.duration), "TIME",
           "length of the run, in place of -n; a number is in seconds")
      .defaults_to("none");
  if (command.latency()) return;
  add_margin_option(list, config);
  if (command.pattern == Pattern::bw)
    list.add_flag("--forever", command.forever,
                  "repeat the run until a signal, a row for each --duration (5 s unless given)");
  if (command.pattern == Pattern::bw)
    list.add_flag("-b,--bidirectional", config.both,
                  "both ways: the server sends as many messages as the client, on QPs of its own; "
                  "the row is of both together");
  list.add("-q,--qps", app::number(config.qps, 1u, std::uint32_t{handover::kMostQps}), "N",
           "number of queue pairs");
  list.add("-t,--buffers", app::number(config.qp.tx_depth, 1u, 1u << 20), "N",
           "messages in flight at once, per QP");
}

void add_qp_options(app::Options& list, MeasureCommand& command) {
  transport::QpConfig& qp = command.config.qp;
  list.add("--transport",
           app::choice<Transport>(
               qp.transport, {{"rc", Transport::rc}, {"uc", Transport::uc}, {"ud", Transport::ud}}),
           "KIND", "service: rc, uc (SEND, WRITE) or ud (SEND of one packet)");
  list.add("--mtu",
           app::choice<std::uint32_t>(qp.mtu, {{"port", 0},
                                               {"256", 256},
                                               {"512", 512},
                                               {"1024", 1024},
                                               {"2048", 2048},
                                               {"4096", 4096}}),
           "BYTES", "path MTU, in bytes; port: the smaller of both sides' ports");
  list.add("--reads", app::number(qp.max_rd_atomic, 1u, 128u), "N",
           "outstanding READs and atomics, per QP");
  list.add("--timeout", app::number(qp.timeout, std::uint8_t{0}, std::uint8_t{31}), "N",
           "local ACK timeout of both sides: 4.096 us x 2^N; 0: never");
  list.add("--retries", app::number(qp.retry_count, std::uint8_t{0}, std::uint8_t{7}), "N",
           "number of retries before a QP fails; soft-RoCE takes 7 as endless");
  list.add("--rnr-retries", app::number(qp.rnr_retry, std::uint8_t{0}, std::uint8_t{7}), "N",
           "number of RNR retries before a QP fails; 7: unlimited");
}

void add_verbs_options(app::Options& list, MeasureCommand& command) {
  VerbsOptions& verbs = command.options.verbs;
  list.add_flag("--inline", verbs.inlined, "put the data of SENDs and WRITEs into the requests");
  list.add("--poll", app::choice<bool>(verbs.events, {{"busy", false}, {"event", true}}), "HOW",
           "wait for completions: busy, or sleep until an event");
  if (!command.latency()) {
    list.add("--post-list", app::number(verbs.list, 1u, 1024u), "N",
             "work requests in one post, as far as there are buffers");
    list.add("--signal", app::choice<bool>(verbs.periodic, {{"all", false}, {"periodic", true}}),
             "WHICH", "requests with a completion: all, or periodic: one in buffers / 2");
    list.add("--slots", app::number(verbs.slots, 0u, 1u << 30), "N",
             "slots of a QP in the server's region, one message after the other")
        .defaults_to("the messages in flight; with receives twice as many");
  }
  list.add_flag("--no-check", command.no_check, "do not fill and check messages");
  list.add_flag("-J,--json", command.json, "print one line of JSON per size");
}

void add_sweep_options(app::Options& list, MeasureCommand& command) {
  list.add("--sweep",
           app::each(parse_sweep_parameter,
                     [&command](const config::ExperimentParameter& each) {
                       command.sweep.push_back(each);
                     }),
           "PARAMETER=VALUE,...",
           "run each value of an option, such as size=4KiB,64KiB, in every combination");
  list.add("-o,--out", app::text(command.out), "DIR", "folder for the results of a sweep")
      .defaults_to("endpoint-COMMAND-results");
  list.add("--repeats", app::number(command.repeats, 1u, 10'000u), "N",
           "runs of each combination of a sweep");
  list.add("--delay", app::parsed(parse_duration, command.delay), "TIME",
           "one-way delay of the path: a sweep then has plan's and the simulator's figures, too")
      .defaults_to("none");
  list.add("--rate", app::parsed(parse_bit_rate, command.rate), "RATE", "link rate for them")
      .defaults_to("the device's");
}

void add_all_options(app::Options& list, MeasureCommand& command) {
  add_connection_options(list, command);
  add_class_options(list, command.traffic);
  add_message_options(list, command);
  add_qp_options(list, command);
  add_verbs_options(list, command);
  add_sweep_options(list, command);
}

app::Command measure_command(Pattern pattern, const char* name, const char* help,
                             const char* examples) {
  auto command = std::make_shared<MeasureCommand>();
  auto outputs = std::make_shared<MeasureOutputs>();
  command->pattern = pattern;
  command->config.size = command->latency() ? 64 : 65536;
  command->config.qp.tx_depth = pattern == Pattern::bw ? 128 : 8;
  command->config.qp.mtu = 0;
  command->config.qp.timeout = 18;
  command->config.qp.retry_count = 6;
  app::Command made{
      .name = name,
      .help = help,
      .examples = examples,
      .notes = kMeasureNotes,
      .check = [command](const app::Given& given) { return check_measure(given, *command); },
      .run =
          [command, outputs, program = std::string("roce-endpoint ") + name] {
            const auto traffic = load_device_class(command->traffic);
            if (!traffic) return print_error(traffic.error());
            warn_of_hop_limit(*traffic);
            command->options.traffic = qp_class_of(*traffic);
            command->options.verbs.checked = !command->no_check;
            const auto& stop = stop_on_signals();
            if (auto checked = outputs->verdicts.check(output_of(command->pattern)); !checked)
              return print_error(checked.error());
            const auto measured = command->sweep.empty() ? measure_all(*command, stop, *outputs)
                                                         : measure_sweep(*command, stop, *outputs);
            const ExitCode judged =
                std::max(outputs->verdicts.finish(program), outputs->of_sweep.finish(program));
            return measured ? judged : std::max(judged, print_error(measured.error()));
          },
  };
  add_all_options(made.options, *command);
  outputs->verdicts.add_options(made.options);
  outputs->page.add_option(made.options);
  return made;
}

}  // namespace

app::Command bw_command() {
  return measure_command(Pattern::bw, "bw", "Measure bandwidth, as perftest does",
                         R"(roce-endpoint bw --peer 192.0.2.1 --token TOKEN --op write -s 64KiB -q 4
roce-endpoint bw --peer 192.0.2.1 --token TOKEN --op read -a --no-check
roce-endpoint bw --peer 192.0.2.1 --token TOKEN --sweep size=4KiB,64KiB,1MiB --delay 1903.5us
roce-endpoint bw --peer 192.0.2.1 --token TOKEN --op send --transport ud -s 1KiB --json)");
}

app::Command lat_command() {
  return measure_command(Pattern::lat, "lat", "Measure latency, as perftest does",
                         R"(roce-endpoint lat --peer 192.0.2.1 --token TOKEN --op write -s 8
roce-endpoint lat --peer 192.0.2.1 --token TOKEN --op send --poll event -a
roce-endpoint lat --peer 192.0.2.1 --token TOKEN --op atomic)");
}

app::Command blast_command() {
  return measure_command(
      Pattern::blast, "blast",
      "Measure messages one way, from the first post to the last completion",
      R"(roce-endpoint blast --peer 192.0.2.1 --token TOKEN --op write -s 64KiB --buffers 8
roce-endpoint blast --peer 192.0.2.1 --token TOKEN --op send --post-list 8 --signal periodic
roce-endpoint blast --peer 192.0.2.1 --token TOKEN --sweep buffers=1,2,4,8,16 --sweep size=4K,64K)");
}

app::Command ping_command() {
  return measure_command(
      Pattern::ping, "ping",
      "Measure messages there and back, from the first post to the last completion",
      R"(roce-endpoint ping --peer 192.0.2.1 --token TOKEN --op send --inline
roce-endpoint ping --peer 192.0.2.1 --token TOKEN --op write --imm --poll event
roce-endpoint ping --peer 192.0.2.1 --token TOKEN --op write  # a WRITE, then a READ)");
}

}  // namespace lw::gen::endpoint
