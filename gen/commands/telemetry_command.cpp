// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "config/toml/profile_search.h"
#include "core/output.h"
#include "core/quantity.h"
#include "gen/commands/commands.h"
#include "gen/commands/outputs.h"
#include "gen/limits.h"
#include "gen/perf/cm/device_connector.h"
#include "gen/perf/options/endpoint_options.h"
#include "gen/questions.h"
#include "gen/telemetry/packet_source.h"
#include "gen/telemetry/record_packer.h"
#include "gen/telemetry/record_writer.h"
#include "nic/clock.h"
#include "nic/port_spec.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

constexpr const char* kTelemetryExamples =
    R"(roce-gen telemetry --from packets.pcap --layout flow48 --port eth1 --address 192.0.2.1 \
      --peer 192.0.2.2:18515 --token TOKEN  # there: roce-endpoint serve --layout flow48 ...
roce-gen telemetry --from eth2 --layout roce32 --imm-every 64 --port eth1 --address 192.0.2.1 \
      --peer 192.0.2.2:18515 --token TOKEN)";

constexpr const char* kTelemetryNotes =
    R"(LAYOUT: a TOML file, or flow48 or roce32. --from is a capture if such a file exists, else a port.)";

struct TelemetryOptions {
  EndpointOptions endpoint;
  std::string from, layout, peer, token;
  std::uint32_t slots = 65536, depth = 128, immediate_every = 0;
  std::uint64_t loop = 1;
  unsigned timeout = 18;
  std::optional<Duration> duration;
  bool json = false;
  app::Verdicts verdicts{kTelemetryQuestions};
};

bool is_capture(const std::string& from) { return from == "-" || std::filesystem::exists(from); }

/// Moves records from a source into a peer's ring.
class Telemetry {
 public:
  /// All arguments must outlive the object.
  Telemetry(EndpointContext& context, Connector& connector, PacketSource& source,
            RecordPacker& packer, RecordWriter& writer)
      : context_(context),
        connector_(connector),
        source_(source),
        packer_(packer),
        writer_(writer) {}

  /// Moves records until the source has ended, or `until` or `stop`; then until all are
  /// acknowledged. Errors: the capture is damaged, the peer is gone, or a WRITE failed.
  Result<void> run(Instant until, const std::atomic<bool>& stop);

 private:
  Result<bool> step(bool more);
  Result<void> watch();
  bool post_record(const roce::Envelope& packet);

  EndpointContext& context_;
  Connector& connector_;
  PacketSource& source_;
  RecordPacker& packer_;
  RecordWriter& writer_;
  Instant watched_ = nic::now(), moved_ = watched_;
  std::uint64_t completed_ = 0;
};

bool Telemetry::post_record(const roce::Envelope& packet) {
  const auto place = writer_.place();
  if (place.empty()) return false;
  if (packer_.pack(packet, place)) writer_.post(nic::now());
  return true;
}

/// One round: reads packets if `more`, and sends and receives frames. Returns true if anything
/// moved.
Result<bool> Telemetry::step(bool more) {
  std::size_t taken = 0;
  if (more) {
    const auto given =
        source_.poll([this](const roce::Envelope& packet) { return post_record(packet); });
    if (!given) return std::unexpected(given.error());
    taken = *given;
  }
  const auto moved = context_.endpoint().poll();
  if (!moved) return moved;
  return *moved || taken > 0;
}

/// Error: the peer is gone, or has acknowledged nothing for a minute.
Result<void> Telemetry::watch() {
  constexpr Duration kBetween = std::chrono::milliseconds(100),
                     kAckTimeout = std::chrono::seconds(60);
  const Instant now = nic::now();
  if (now - watched_ < kBetween) return {};
  watched_ = now;
  if (writer_.completed() != completed_ || writer_.idle()) moved_ = now;
  completed_ = writer_.completed();
  if (now - moved_ > kAckTimeout)
    return fail(
        fmt::format("the peer acknowledged nothing for {}", format_set_duration(kAckTimeout)),
        ExitCode::failed);
  return connector_.check();
}

Result<void> Telemetry::run(Instant until, const std::atomic<bool>& stop) {
  std::optional<Instant> stopped;
  for (bool more = true; more || !writer_.idle();) {
    if (!stopped && stop.load(std::memory_order_relaxed)) stopped = nic::now();
    if (stopped && nic::now() - *stopped > kWaitAfterStop)
      return fail("stopped by a signal; the last records are not acknowledged", ExitCode::failed);
    more = more && !source_.ended() && !stopped && nic::now() < until;
    const auto moved = step(more);
    if (!moved) return std::unexpected(moved.error());
    if (writer_.failed() > 0)
      return fail(fmt::format("{} records failed: {}", writer_.failed(),
                              transport::name_of(writer_.failure())),
                  ExitCode::failed);
    if (auto there = watch(); !there) return there;
  }
  return {};
}

/// Result of writing records.
struct TelemetryResult {
  std::uint64_t records = 0, record_bytes = 0;
  PackerCounters packets;
  std::uint64_t missed = 0;
  transport::RequesterCounters sent;
  Duration elapsed{};
  Machine machine;
  roce::ClassOfTraffic traffic;
  std::vector<ClassCount> classes;

  [[nodiscard]] double rate() const noexcept {
    return elapsed.count() > 0
               ? static_cast<double>(records) * 1e9 / static_cast<double>(elapsed.count())
               : 0;
  }
};

std::string text_of(const TelemetryResult& result) {
  return fmt::format(
      "{} records of {} B written in {}: {:.0f} records/s; {} packets sent, {} of them again\n"
      "{} packets passed over, {} cut, {} missed\n{}",
      result.records, result.record_bytes, format_duration(result.elapsed), result.rate(),
      result.sent.packets, result.sent.retransmitted, result.packets.passed_over,
      result.packets.cut, result.missed, result.traffic.empty() ? "" : class_lines(result.classes));
}

/// `failure`: why records were not written; empty: all were.
void observe_telemetry(Judge& judge, const TelemetryResult& result, const std::string& failure) {
  judge.add({.name = "records",
             .value = static_cast<double>(result.missed),
             .text = result.missed == 0
                         ? "every packet has its record"
                         : fmt::format("{} packets have no record: they came faster than the peer "
                                       "acknowledged records, or than this machine receives",
                                       format_count(result.missed)),
             .count = result.records + result.missed,
             .remedy = "try a larger --tx-depth"});
  judge.add({.name = "failed",
             .value = failure.empty() ? 0 : 1,
             .text = failure.empty() ? "the peer acknowledged every record" : failure,
             .count = result.records});
  observe(judge, result.machine, "this machine");
}

Result<std::unique_ptr<PacketSource>> open_source(const TelemetryOptions& options,
                                                  EndpointContext& context) {
  if (nic::Port* port = context.beside()) return std::make_unique<PortPackets>(*port);
  auto captured = CapturedPackets::open(options.from, options.loop);
  if (!captured) return std::unexpected(captured.error());
  return std::move(*captured);
}

Result<void> run_telemetry(TelemetryOptions& options, const config::RecordLayout& layout,
                           EndpointContext& context, const std::atomic<bool>& stop) {
  if (auto up = context.wait_link(options.endpoint.wait, stop); !up) return up;
  RecordPacker packer(layout);
  auto source = open_source(options, context);
  if (!source) return std::unexpected(source.error());
  DeviceConnector connector(context.endpoint(), context.port(),
                            {.where = options.peer,
                             .token = options.token,
                             .checked = false,
                             .timeout = options.endpoint.wait},
                            stop);
  transport::QpConfig qp;
  qp.tx_depth = qp.max_outstanding_wqe = options.depth;
  qp.timeout = static_cast<std::uint8_t>(options.timeout);
  const SessionParams params{.operation = wire::Operation::write,
                             .immediate = options.immediate_every > 0,
                             .size = static_cast<std::uint32_t>(packer.size()),
                             .slots = options.slots,
                             .depth = options.depth};
  auto connected = connector.connect(params, qp, 1);
  if (!connected) return std::unexpected(connected.error());
  RecordWriter writer(connected->front(), options.immediate_every);
  context.begin_watch();
  const Instant began = nic::now();
  const Instant until = options.duration ? began + *options.duration : Instant::max();
  auto ran = Telemetry(context, connector, **source, packer, writer).run(until, stop);
  const TelemetryResult result{writer.completed(),
                               packer.size(),
                               packer.counters(),
                               (*source)->missed(),
                               connected->front().connection->pair().requester().counters(),
                               nic::now() - began,
                               context.machine(),
                               context.endpoint().channel().traffic(),
                               context.endpoint().classes().counts()};
  Judge judge = options.verdicts.judge();
  observe_telemetry(judge, result, ran ? "" : ran.error().message);
  const std::string json = options.verdicts.judged(
      judge, options.json, [&] { return report::json_line(kTelemetryOutput, result); },
      "roce-gen telemetry", &kTelemetryOutput);
  print_report(options.json ? json : options.verdicts.text() + text_of(result));
  connected->front().messages = writer.completed();
  const auto ended = connector.disconnect(*connected);
  return ran ? ended : ran;
}

ExitCode telemetry(TelemetryOptions& options, const std::atomic<bool>& stop) {
  const auto layout = config::load_record_layout(options.layout);
  if (!layout) return print_error(layout.error());
  if (auto checked = options.verdicts.check(kTelemetryOutput); !checked)
    return print_error(checked.error());
  const bool captured = is_capture(options.from);
  std::vector<NamedFile> inputs = {{"--layout", options.layout}},
                         outputs = {{"--pcap", options.endpoint.pcap, true},
                                    options.verdicts.junit()};
  if (captured) inputs.push_back({"--from", options.from});
  nic::add_files(options.endpoint.port, inputs, outputs);
  if (const auto apart = check_outputs(inputs, outputs); !apart) return print_error(apart.error());
  const auto own = address_of(options.endpoint, 1);
  if (!own) return print_error(own.error());
  options.endpoint.traffic.layout = layout->traffic;
  auto context = EndpointContext::open(options.endpoint, *own, captured ? "" : options.from);
  if (!context) return print_error(context.error());
  const auto ran = run_telemetry(options, *layout, **context, stop);
  const auto closed = (*context)->close();
  const ExitCode judged = options.verdicts.finish("roce-gen telemetry");
  if (!ran) return std::max(judged, print_error(ran.error()));
  return closed ? judged : print_error(closed.error());
}

Result<void> check_telemetry_usage(const app::Given& given, const TelemetryOptions& options) {
  if (options.slots < options.depth)
    return fail(fmt::format("--slots: expected at least --tx-depth, {}, found {}", options.depth,
                            options.slots));
  if (given.has("--loop") && (options.from == "-" || !is_capture(options.from)))
    return fail("--loop: goes with --from CAPTURE, a file");
  return {};
}

void add_telemetry_options(app::Options& list, TelemetryOptions& options) {
  list.add("--from", app::text(options.from), "CAPTURE|PORT",
           "packets to make records of: a capture, or a port to receive from")
      .required();
  list.add("--layout", app::profile(options.layout, {config::kTelemetryProfiles}), "LAYOUT",
           "what a record holds")
      .required();
  list.add("--port", app::text(options.endpoint.port), "PORT", "port to send records through")
      .required();
  list.add("--peer", app::text(options.peer), "HOST:PORT",
           "where `roce-endpoint serve --layout` hands over its ring")
      .required();
  list.add("--token", app::text(options.token), "T", "token of that roce-endpoint").required();
  list.add("--slots", app::number(options.slots, 1u, 1u << 24), "N", "records of the ring");
  list.add("-t,--tx-depth", app::number(options.depth, 1u, 65536u), "N",
           "records that are sent and not acknowledged");
  list.add("--imm-every", app::number(options.immediate_every), "N",
           "each N-th WRITE has an immediate, which wakes the reader; 0: none");
  list.add("--timeout", app::number(options.timeout, 0u, 31u), "N",
           "local ACK timeout: 4.096 us x 2^N; 0: none");
  list.add("--loop", app::number(options.loop, std::uint64_t{1}, std::uint64_t{1} << 40), "N",
           "passes over the capture");
  list.add("--duration", app::parsed(app::read_time, options.duration), "TIME",
           "end after this time")
      .defaults_to("the end of the capture, or a signal");
  list.add("--pcap", app::text(options.endpoint.pcap), "FILE",
           "capture file of what passes --port");
  add_endpoint_options(list, options.endpoint);
  options.verdicts.add_options(list);
  options.verdicts.add_strict_option(list);
  list.add_flag("--json", options.json, "print the result as one line of JSON");
}

}  // namespace

const FigureTable& telemetry_figures() {
  using Row = FigureOf<TelemetryResult>;
  static constexpr Figure kRows[] = {
      Row::of<&TelemetryResult::records>("records", "Records written."),
      Row::of<&TelemetryResult::record_bytes>("record_bytes", "Size of a record, in bytes.",
                                              Unit::bytes),
      Row::of<through<&TelemetryResult::packets, &PackerCounters::passed_over>>(
          "passed_over", "Packets that make no record."),
      Row::of<through<&TelemetryResult::packets, &PackerCounters::cut>>(
          "cut", "Packets that the capture truncated."),
      Row::of<&TelemetryResult::missed>("missed",
                                        "Packets that the port dropped before they were read."),
      Row::of<through<&TelemetryResult::sent, &transport::RequesterCounters::packets>>(
          "packets", "Packets sent."),
      Row::of<through<&TelemetryResult::sent, &transport::RequesterCounters::retransmitted>>(
          "retransmitted", "Packets retransmitted."),
      Row::of<through<&TelemetryResult::sent, &transport::RequesterCounters::timeouts>>(
          "timeouts", "Timeouts."),
      Row::of<&TelemetryResult::elapsed>("elapsed_ns", "Duration.", Unit::ns),
      Row::of<&TelemetryResult::rate>("records_per_second", "Rate, in records per second."),
      Row::of<&TelemetryResult::machine>("machine", "What this machine lost and delayed."),
      Row::of<&TelemetryResult::traffic>("traffic_class", roce::kClassMeaning),
      Row::of<&TelemetryResult::classes>("classes", "Packets of this side by class.")};
  static constexpr FigureTable kTable{"Result of writing records.", kRows};
  return kTable;
}

app::Command telemetry_command() {
  auto options = std::make_shared<TelemetryOptions>();
  app::Command command{
      .name = "telemetry",
      .help = "Make records of packets and write them into a peer's memory by RDMA",
      .examples = kTelemetryExamples,
      .notes = kTelemetryNotes,
      .check =
          [options](const app::Given& given) { return check_telemetry_usage(given, *options); },
      .run = [options] { return telemetry(*options, stop_on_signals()); },
  };
  add_telemetry_options(command.options, *options);
  return command;
}

}  // namespace lw::gen
