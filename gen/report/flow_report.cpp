// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/flow_report.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "gen/report/run_report.h"
#include "report/json_line.h"
#include "report/table.h"
#include "roce/message.h"

namespace lw::gen {
namespace {

std::string address_text(const std::array<std::byte, 16>& bytes) {
  return wire::to_string(ip_of(wire::Ipv6Address{bytes}));
}

const Histogram* latency_of(const ReceiveFlow& flow) {
  if (!flow.signature || flow.signature->latency.count() == 0) return nullptr;
  return &flow.signature->latency;
}

template <int per_myriad>
std::int64_t quantile(const Histogram& latency) {
  return latency.quantile(per_myriad / 10000.0);
}

std::int64_t largest_extent(const analysis::OrderCounts& order) {
  return order.extents ? order.extents->maximum() : 0;
}

std::vector<std::array<std::int64_t, 3>> extents_of(const analysis::OrderCounts& order) {
  std::vector<std::array<std::int64_t, 3>> buckets;
  if (order.extents)
    for (const auto& [first, last, count] : order.extents->occupied())
      buckets.push_back({first, last, static_cast<std::int64_t>(count)});
  return buckets;
}

/// How far frames came out of order (RFC 4737).
const FigureTable& reordering_figures() {
  using Row = FigureOf<analysis::OrderCounts>;
  static constexpr Figure kRows[] = {
      Row::of<largest_extent>("max_extent", "Largest extent, in frames.", Unit::frames),
      Row::of<extents_of>(
          "extents",
          "Buckets of the histogram of extents: first and last extent, in frames, and number of "
          "frames.")};
  static constexpr FigureTable kTable{
      "Extents of reordering: how many newer frames arrived first (RFC 4737).", kRows};
  return kTable;
}

std::string time_text(double ns) {
  return format_duration(Duration{static_cast<std::int64_t>(ns)});
}

void add_latency_row(report::TextTable& table, const std::string& name, const ReceiveFlow& flow) {
  const Histogram* latency = latency_of(flow);
  if (latency == nullptr) return;
  const auto at = [&](double q) { return time_text(static_cast<double>(latency->quantile(q))); };
  table.add_row({name, time_text(static_cast<double>(latency->minimum())),
                 time_text(latency->mean()), at(0.5), at(0.99), at(0.999), at(0.9999),
                 time_text(static_cast<double>(latency->maximum())),
                 time_text(flow.signature->jitter.ns())});
}

report::TextTable order_table(Measured measured) {
  using report::Align;
  std::vector<report::TextTable::Column> columns = {{"flow", Align::left}};
  for (const char* title :
       {"frames", "bytes", "lost", "duplicated", "out of order", "reordering extent"})
    columns.push_back({title, Align::right});
  if (measured == Measured::frames)
    for (const char* title : {"bad ICRC", "CE"}) columns.push_back({title, Align::right});
  return report::TextTable(columns);
}

void add_order_row(report::TextTable& table, const FlowRow& row, Measured measured) {
  const ReceiveFlow& flow = *row.flow;
  const analysis::OrderCounts& order = flow.order;
  const std::int64_t extent = order.extents ? order.extents->maximum() : 0;
  std::vector<std::string> cells = {row.name,
                                    fmt::to_string(flow.frames),
                                    fmt::to_string(flow.bytes),
                                    row.knows_loss() ? fmt::to_string(row.lost()) : "-",
                                    fmt::to_string(order.duplicated),
                                    fmt::to_string(order.out_of_order),
                                    fmt::to_string(extent)};
  if (measured == Measured::frames)
    for (const std::uint64_t count : {flow.bad_icrc, flow.ce_marks})
      cells.push_back(fmt::to_string(count));
  table.add_row(std::move(cells));
}

report::TextTable latency_table() {
  using report::Align;
  std::vector<report::TextTable::Column> columns = {{"latency", Align::left}};
  for (const char* title : {"min", "mean", "p50", "p99", "p99.9", "p99.99", "max", "jitter"}) {
    columns.push_back({title, Align::right});
  }
  return report::TextTable(columns);
}

/// Streams that came, for a look-up by what identifies a flow of a profile.
class ArrivedStreams {
 public:
  explicit ArrivedStreams(const Measurement& measurement) {
    for (const ReceiveFlow& flow : measurement.flows()) {
      if (flow.stream.is_signed) {
        signed_.insert(flow.stream.key.dest_qp);
      } else {
        plain_.insert(flow.stream);
      }
    }
  }
  [[nodiscard]] bool contain(std::uint32_t flow) const { return signed_.contains(flow); }
  [[nodiscard]] bool contain(const StreamKey& stream) const { return plain_.contains(stream); }

 private:
  std::unordered_set<std::uint32_t> signed_;
  std::unordered_set<StreamKey, StreamKeyHash> plain_;
};

}  // namespace

std::vector<AbsentFlow> absent_flows(const config::FlowProfile& profile,
                                     const Measurement& measurement) {
  const ArrivedStreams arrived(measurement);
  std::vector<AbsentFlow> absent;
  for (const config::Flow& flow : profile.flows) {
    if (flow.signature && arrived.contain(flow.id)) continue;
    // Frames too short for a signature are a stream of their own.
    const StreamKey stream = plain_stream(flow);
    if (arrived.contain(stream)) continue;
    AbsentFlow& added = absent.emplace_back();
    added.id = flow.id;
    added.expected.stream = stream;
    added.expected.stream.is_signed = flow.signature;
    added.expected.opcode = packet_of(flow.message, 0).opcode;
    if (flow.signature) added.expected.stream.key.dest_qp = flow.id;
  }
  return absent;
}

FlowNames names_in(const config::FlowProfile& profile) {
  FlowNames names;
  for (const config::Flow& flow : profile.flows) names.push_back(flow.name);
  return names;
}

std::string name_of(const ReceiveFlow& flow, const FlowNames& names) {
  const auto& key = flow.stream.key;
  if (flow.stream.is_signed) {
    return key.dest_qp < names.size() ? names[key.dest_qp] : fmt::format("flow {}", key.dest_qp);
  }
  const auto* info = wire::find_opcode(flow.opcode);
  return fmt::format("{} {} QP {:#x}", wire::name_of(info->transport), wire::name_of(key.role),
                     key.dest_qp);
}

std::string source_of(const ReceiveFlow& flow) { return address_text(flow.stream.key.source); }
std::string destination_of(const ReceiveFlow& flow) {
  return address_text(flow.stream.key.destination);
}

std::uint64_t FlowRow::due() const noexcept {
  const std::uint64_t unique = flow->frames - std::min(flow->frames, flow->order.duplicated);
  return sent.value_or(unique + lost());
}

std::string flow_table(const Measurement& measurement, std::span<const FlowRow> flows,
                       std::size_t most, Measured measured) {
  auto order = order_table(measured);
  auto latencies = latency_table();
  for (const FlowRow& row : flows.first(std::min(most, flows.size()))) {
    add_order_row(order, row, measured);
    if (measured == Measured::frames || measurement.latency_doubt(*row.flow).empty())
      add_latency_row(latencies, row.name, *row.flow);
  }
  std::string text = order.empty() ? "" : order.to_string();
  if (!latencies.empty()) text += latencies.to_string();
  if (flows.size() > most)
    text += fmt::format("and {} more\n", counted(flows.size() - most, "flow"));
  return text;
}

std::string histogram_csv(const Measurement& measurement, const FlowNames& names) {
  std::string csv = "flow,first,last,count\n";
  for (const ReceiveFlow& flow : measurement.flows()) {
    const Histogram* latency = latency_of(flow);
    if (latency == nullptr) continue;
    for (const auto& b : latency->occupied()) {
      csv += fmt::format("{},{},{},{}\n", report::csv_field(name_of(flow, names)), b.first, b.last,
                         b.count);
    }
  }
  return csv;
}

std::string to_text(const ReceiveSummary& summary) {
  constexpr std::size_t kMostRows = 100;
  const ReceiveReport& report = summary.report;
  const Measurement& measurement = summary.measurement;
  const MeasureTotals& totals = measurement.totals();
  std::string text = flow_table(measurement, summary.flows, kMostRows);
  text += fmt::format("{}, {} of them RoCE, {} in {}; {} missed\n", counted(totals.frames, "frame"),
                      totals.roce, format_bytes(static_cast<double>(totals.bytes)),
                      format_duration(report.elapsed), report.missed);
  for (const ReceiveFlow& flow : measurement.flows()) {
    const std::string doubt = measurement.latency_doubt(flow);
    if (doubt.empty()) continue;
    text += fmt::format("latencies mean nothing: of {}, {}\n", name_of(flow, summary.names), doubt);
    break;
  }
  if (!report.clock.empty()) text += fmt::format("latencies by {}\n", report.clock);
  if (!report.interrupted.empty()) text += fmt::format("ended early: {}\n", report.interrupted);
  text += fmt::format("{} ICRCs checked, {} bad", totals.icrc_checked, totals.bad_icrc);
  if (totals.malformed > 0) text += fmt::format("; {} malformed", totals.malformed);
  if (totals.crowded_out > 0) text += fmt::format("; {} of too many flows", totals.crowded_out);
  if (totals.latencies_not_counted > 0)
    text += fmt::format("; {} latencies not counted, as their histograms have {} GiB",
                        totals.latencies_not_counted, kMostLatencyMemory >> 30);
  return text + "\n";
}

namespace {

/// The end-to-end context of a stream of RD without signatures, with its ends and its role.
std::optional<StreamKey> rd_context(const ReceiveFlow& flow) {
  const auto* info = wire::find_opcode(flow.opcode);
  if (flow.stream.is_signed || info == nullptr || info->transport != wire::Transport::rd)
    return std::nullopt;
  StreamKey context = flow.stream;
  context.key.dest_qp = 0;
  return context;
}

/// Marks the streams of RD whose context has several.
void mark_shared_psns(std::vector<FlowRow>& rows) {
  std::unordered_map<StreamKey, int, StreamKeyHash> streams;
  for (const FlowRow& row : rows)
    if (const auto context = rd_context(*row.flow)) ++streams[*context];
  for (FlowRow& row : rows)
    if (const auto context = rd_context(*row.flow)) row.shares_psns = streams[*context] > 1;
}

}  // namespace

std::vector<FlowRow> flow_rows(const Measurement& measurement, const FlowNames& names,
                               std::span<const AbsentFlow> absent) {
  std::vector<FlowRow> rows;
  for (const ReceiveFlow& flow : measurement.flows()) rows.push_back({&flow, name_of(flow, names)});
  mark_shared_psns(rows);
  for (const AbsentFlow& flow : absent)
    rows.push_back({&flow.expected, name_of(flow.expected, names), true});
  return rows;
}

namespace {

template <bool is_signed>
std::optional<std::uint32_t> id_if(const FlowRow& row) {
  if (row.flow->stream.is_signed != is_signed) return std::nullopt;
  return row.flow->stream.key.dest_qp;
}

std::optional<std::string_view> role_of(const FlowRow& row) {
  if (row.flow->stream.is_signed) return std::nullopt;
  return wire::name_of(row.flow->stream.key.role);
}

const Histogram* shown_latency(const FlowRow& row) {
  return row.valid_latency ? latency_of(*row.flow) : nullptr;
}

std::optional<double> shown_jitter(const FlowRow& row) {
  if (!row.valid_latency || latency_of(*row.flow) == nullptr) return std::nullopt;
  return row.flow->signature->jitter.ns();
}

std::optional<std::string> sender_clock(const FlowRow& row) {
  if (latency_of(*row.flow) == nullptr) return std::nullopt;
  return clock_name(row.flow->signature->clock);
}

const NotAsAsked* not_as_asked(const FlowRow& row) { return row.flow->not_as_asked.get(); }

std::optional<std::uint64_t> known_loss(const FlowRow& row) {
  if (!row.knows_loss()) return std::nullopt;
  return row.lost();
}

std::optional<std::uint64_t> left_out(const FlowRow& row) {
  if (!row.flow->signature) return std::nullopt;
  return row.flow->signature->left_out;
}

std::optional<Duration> delay_bound(const FlowRow& row) {
  if (latency_of(*row.flow) == nullptr || row.flow->signature->clock_bound == Duration{0})
    return std::nullopt;
  return row.flow->signature->clock_bound;
}

std::optional<std::uint8_t> signature_version(const FlowRow& row) {
  if (!row.flow->signature) return std::nullopt;
  return row.flow->signature->version;
}

template <auto member>
const auto& counter(const FlowRow& row) {
  return row.flow->*member;
}

template <auto member>
const auto& order(const FlowRow& row) {
  return row.flow->order.*member;
}

const FigureTable& latency_distribution() {
  using Row = FigureOf<Histogram>;
  static constexpr Figure kRows[] = {
      Row::of<&Histogram::count>("count", "Number of values."),
      Row::of<&Histogram::minimum>("min", "Smallest value.", Unit::ns),
      Row::of<&Histogram::mean>("mean", "Mean.", Unit::ns),
      Row::of<quantile<5000>>("p50", "Median.", Unit::ns),
      Row::of<quantile<9000>>("p90", "90th percentile.", Unit::ns),
      Row::of<quantile<9900>>("p99", "99th percentile.", Unit::ns),
      Row::of<quantile<9990>>("p99_9", "99.9th percentile.", Unit::ns),
      Row::of<quantile<9999>>("p99_99", "99.99th percentile.", Unit::ns),
      Row::of<&Histogram::maximum>("max", "Largest value.", Unit::ns)};
  static constexpr FigureTable kTable{"Distribution of one-way latencies, in nanoseconds.", kRows};
  return kTable;
}

}  // namespace

const FigureTable& FlowRow::arrivals() {
  using Row = FigureOf<FlowRow>;
  static constexpr Figure kRows[] = {
      Row::of<&FlowRow::name>("name",
                              "Name of the flow in the profile, or transport, role and QP."),
      Row::of<[](const FlowRow& row) { return row.flow->stream.is_signed; }>(
          "signed", "True if the payloads carry longwire's signature."),
      Row::of<id_if<true>>("flow",
                           "Number of the flow in the sender's profile; only signed flows."),
      Row::of<id_if<false>>("dst_qp", "Destination QP number; only flows without signature."),
      Row::of<role_of>("role", "request or response; only flows without signature."),
      Row::of<[](const FlowRow& row) { return source_of(*row.flow); }>(
          "source", "Source IP address and UDP port, or GID."),
      Row::of<[](const FlowRow& row) { return destination_of(*row.flow); }>(
          "destination", "Destination IP address, or GID."),
      Row::of<counter<&ReceiveFlow::frames>>("frames", "Frames that came.", Unit::frames),
      Row::of<counter<&ReceiveFlow::bytes>>("bytes", "Their bytes, without FCS.", Unit::bytes),
      Row::of<known_loss>(
          "lost",
          "Frames that never came, by sequence numbers; where the number sent is known, the last "
          "ones included; null for RD without signatures if its end-to-end context has several "
          "QPs.",
          Unit::frames)
          .or_null(),
      Row::of<order<&analysis::OrderCounts::duplicated>>(
          "duplicated", "Frames that came more than once.", Unit::frames),
      Row::of<order<&analysis::OrderCounts::out_of_order>>(
          "out_of_order", "Frames that came after a newer one.", Unit::frames),
      Row::with_table<[](const FlowRow& row) -> const auto& { return row.flow->order; },
                      reordering_figures>("reordering", "Extents of the reordering."),
      Row::of<order<&analysis::OrderCounts::beyond_window>>(
          "beyond_window", "Frames too far from the newest to be judged.", Unit::frames),
      Row::of<order<&analysis::OrderCounts::restarts>>("restarts",
                                                       "Times that the sequence began anew."),
      Row::of<[](const FlowRow& row) { return row.flow->last - row.flow->first; }>(
          "elapsed_ns", "Time from the first to the last frame.", Unit::ns),
      Row::with_table<shown_latency, latency_distribution>(
          "latency_ns", "One-way latency of signed frames.", Unit::ns),
      Row::of<shown_jitter>("jitter_ns", "Mean variation of the latency (RFC 3550).", Unit::ns),
      Row::of<left_out>("latencies_left_out",
                        "Latencies that are not counted: negative, longer than an hour, of clocks "
                        "that cannot be compared, or of frames that are too late to tell from "
                        "copies."),
      Row::with_table<not_as_asked, NotAsAsked::figures>(),
      Row::of<sender_clock>("sender_clock", "Clock of the sender's time stamps."),
      Row::of<signature_version>("signature_version", "Version of the signature.")};
  static constexpr FigureTable kTable{"What came of one flow.", kRows};
  return kTable;
}

const FigureTable& FlowRow::figures() {
  using Row = FigureOf<FlowRow>;
  static constexpr Figure kRows[] = {
      Row::with_table<std::identity{}, arrivals>(),
      Row::of<order<&analysis::OrderCounts::retransmitted>>(
          "retransmitted", "Packets that were retransmitted, by their PSN."),
      Row::of<[](const FlowRow& row) { return row.flow->icrc_checked + row.flow->bad_icrc; }>(
          "icrc_checked", "Frames whose ICRC was computed.", Unit::frames),
      Row::of<counter<&ReceiveFlow::bad_icrc>>("bad_icrc", "Frames whose ICRC was wrong.",
                                               Unit::frames),
      Row::of<counter<&ReceiveFlow::ce_marks>>("ce_marks", "Frames marked Congestion Experienced.",
                                               Unit::frames),
      Row::of<counter<&ReceiveFlow::acks>>("acks", "ACKs that came."),
      Row::of<counter<&ReceiveFlow::sequence_naks>>("sequence_naks",
                                                    "NAKs for a PSN sequence error."),
      Row::of<counter<&ReceiveFlow::rnr_naks>>("rnr_naks",
                                               "NAKs for a receiver that was not ready."),
      Row::of<counter<&ReceiveFlow::other_naks>>("other_naks", "Other NAKs."),
      Row::of<&FlowRow::sent>("sent", "Frames that the sender sent, where it is known.",
                              Unit::frames),
      Row::of<&FlowRow::sender>("sender", "Host that sent it; only in a run of several.").if_any(),
      Row::of<&FlowRow::receiver>("receiver", "Host that received it; only in a run of several.")
          .if_any(),
      Row::of<delay_bound>("latency_bound_ns",
                           "Largest error of the latencies, as the clocks of the two hosts differ; "
                           "only in a run of several.",
                           Unit::ns)
          .if_any()};
  static constexpr FigureTable kTable{"What came of one flow.", kRows};
  return kTable;
}

const FigureTable& MeasureTotals::figures() {
  using Row = FigureOf<MeasureTotals>;
  static constexpr Figure kRows[] = {
      Row::of<&MeasureTotals::frames>("frames", "Frames that came.", Unit::frames),
      Row::of<&MeasureTotals::roce>("roce", "RoCE frames among them.", Unit::frames),
      Row::of<&MeasureTotals::bytes>("bytes", "Bytes of all frames, without FCS.", Unit::bytes),
      Row::of<&MeasureTotals::icrc_checked>("icrc_checked", "Frames whose ICRC was computed.",
                                            Unit::frames),
      Row::of<&MeasureTotals::bad_icrc>("bad_icrc", "Frames whose ICRC was wrong.", Unit::frames),
      Row::of<&MeasureTotals::malformed>("malformed", "RoCE frames that are not understood.",
                                         Unit::frames),
      Row::of<&MeasureTotals::crowded_out>("crowded_out", "Frames of flows beyond the limit.",
                                           Unit::frames),
      Row::of<&MeasureTotals::latencies_not_counted>(
          "latencies_not_counted", "Latencies beyond the memory for their histograms.")};
  static constexpr FigureTable kTable{"What came.", kRows};
  return kTable;
}

const FigureTable& ReceiveSummary::figures() {
  using Summary = ReceiveSummary;
  using Row = FigureOf<Summary>;
  static constexpr Figure kRows[] = {
      Row::rows_of<[](const Summary& s) -> const auto& { return s.measurement.totals(); }>(),
      Row::of<[](const Summary& s) { return s.report.missed; }>(
          "missed", "Frames that ports dropped before they were read.", Unit::frames),
      Row::of<[](const Summary& s) { return s.report.elapsed; }>("elapsed_ns", "Duration.",
                                                                 Unit::ns),
      Row::of<[](const Summary& s) -> const auto& { return s.report.clock; }>(
          "clock", "Clock of the latencies.")
          .if_any(),
      Row::of<[](const Summary& s) -> const auto& { return s.report.interrupted; }>(
          "interrupted", "Reason why the run ended early.")
          .if_any(),
      Row::of<[](const Summary& s) {
        return s.report.machine.losses.empty() ? nullptr : &s.report.machine;
      }>("machine", "What this machine lost and delayed; only with ports."),
      Row::of<&Summary::flows>("flows", "What came, by flow.")};
  static constexpr FigureTable kTable{"Report of a receiver.", kRows};
  return kTable;
}

}  // namespace lw::gen
