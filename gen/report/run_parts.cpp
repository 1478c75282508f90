// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_parts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/figure.h"
#include "core/json.h"
#include "report/figures/json.h"
#include "report/figures/read_json.h"

namespace lw::gen {
namespace {

using report::Json;

/// The row of a member that is written as another value: `to_value` makes it of the member, and
/// `to_member` the member of it.
template <class Object, auto accessor, auto to_value, auto to_member>
constexpr Figure row_as(std::string_view name, std::string_view meaning) {
  constexpr auto value_of = [](const Object& object) {
    return to_value(std::invoke(accessor, object));
  };
  Figure row = FigureOf<Object>::template of<value_of>(name, meaning);
  row.write = [](void* object, FigureSource& source) {
    decltype(value_of(std::declval<const Object&>())) value{};
    figure_detail::absorb(value, source);
    std::invoke(accessor, *static_cast<Object*>(object)) = to_member(value);
  };
  return row;
}

/// The row of a struct that a unique_ptr owns; left out where it is null.
template <class Object, auto accessor, const FigureTable& (*table)()>
constexpr Figure owned_row(std::string_view name, std::string_view meaning) {
  constexpr auto owned = [](const Object& object) { return std::invoke(accessor, object).get(); };
  Figure row = FigureOf<Object>::template with_table<owned, table>(name, meaning);
  row.write = [](void* object, FigureSource& source) {
    auto& owner = std::invoke(accessor, *static_cast<Object*>(object));
    owner = std::make_unique<typename std::remove_cvref_t<decltype(owner)>::element_type>();
    source.object(table(), owner.get());
  };
  return row;
}

/// A histogram with all its buckets.
struct HistogramPart {
  std::int64_t least = 0, most = 0;
  double sum = 0;
  std::vector<std::array<std::int64_t, 2>> buckets;
  static const FigureTable& figures();
};

const FigureTable& HistogramPart::figures() {
  using Row = FigureOf<HistogramPart>;
  static constexpr Figure kRows[] = {
      Row::of<&HistogramPart::least>("min", "Smallest value."),
      Row::of<&HistogramPart::most>("max", "Largest value."),
      Row::of<&HistogramPart::sum>("sum", "Sum of the values."),
      Row::of<&HistogramPart::buckets>("buckets", "Of each: its first value, and its count.")};
  static constexpr FigureTable kTable{"A histogram.", kRows};
  return kTable;
}

HistogramPart part_of(const Histogram& histogram) {
  HistogramPart part{histogram.minimum(), histogram.maximum(), histogram.sum(), {}};
  for (const auto& [first, last, count] : histogram.occupied())
    part.buckets.push_back({first, static_cast<std::int64_t>(count)});
  return part;
}

Histogram histogram_of(const HistogramPart& part) {
  std::vector<Histogram::Sample> buckets;
  for (const auto& [first, count] : part.buckets)
    buckets.push_back({first, static_cast<std::uint64_t>(count)});
  return Histogram::restored(buckets, part.least, part.most, part.sum);
}

std::optional<HistogramPart> part_of_any(const std::unique_ptr<Histogram>& histogram) {
  if (!histogram) return std::nullopt;
  return part_of(*histogram);
}

std::unique_ptr<Histogram> any_histogram_of(const std::optional<HistogramPart>& part) {
  return part ? std::make_unique<Histogram>(histogram_of(*part)) : nullptr;
}

double ns_of(const JitterEstimate& jitter) { return jitter.ns(); }
JitterEstimate jitter_of(double ns) { return JitterEstimate(ns); }

std::uint64_t next_of(const analysis::SequenceTracker& tracker) { return tracker.next(); }
analysis::SequenceTracker tracker_at(std::uint64_t next) { return analysis::SequenceTracker(next); }

using Address = std::array<std::byte, 16>;
using AddressNumbers = std::array<std::uint8_t, 16>;
AddressNumbers numbers_of(const Address& address) { return std::bit_cast<AddressNumbers>(address); }
Address address_of(const AddressNumbers& numbers) { return std::bit_cast<Address>(numbers); }

template <class Enum>
std::uint8_t number_of(const Enum& value) noexcept {
  return static_cast<std::uint8_t>(value);
}
template <class Enum>
Enum value_of_number(std::uint8_t number) noexcept {
  return static_cast<Enum>(number);
}

struct SentFlowPart {
  FlowCounters counters;
  static const FigureTable& figures();
};

template <auto member>
constexpr auto kCounter = through<&SentFlowPart::counters, member>;

const FigureTable& SentFlowPart::figures() {
  using Row = FigureOf<SentFlowPart>;
  static constexpr Figure kRows[] = {
      Row::rows_of<&SentFlowPart::counters>(),
      Row::of<kCounter<&FlowCounters::wire_bytes>>("wire_bytes", "Bytes on the wire."),
      Row::of<kCounter<&FlowCounters::begin>>("begin", "Due time of the first frame."),
      Row::of<kCounter<&FlowCounters::span>>("span", "End of the last frame's slot."),
      Row::of<kCounter<&FlowCounters::late>>("late", "Lateness of the last frame."),
      Row::of<kCounter<&FlowCounters::shared>>("shared", "End of the slot of all QPs."),
      Row::of<kCounter<&FlowCounters::faults>>("fault_counts",
                                               "Numbers of faulty frames, one a kind.")};
  static constexpr FigureTable kTable{"What a flow sent.", kRows};
  return kTable;
}

std::vector<SentFlowPart> parts_of(const std::vector<FlowCounters>& flows) {
  std::vector<SentFlowPart> parts;
  for (const FlowCounters& counters : flows) parts.push_back({counters});
  return parts;
}

std::vector<FlowCounters> flows_of(const std::vector<SentFlowPart>& parts) {
  std::vector<FlowCounters> flows;
  for (const SentFlowPart& part : parts) flows.push_back(part.counters);
  return flows;
}

struct PortPart {
  PortLosses losses;
  static const FigureTable& figures();
};

const FigureTable& PortPart::figures() {
  using Row = FigureOf<PortPart>;
  static constexpr Figure kRows[] = {
      Row::of<through<&PortPart::losses, &PortLosses::port>>("port", "The port, as given."),
      Row::of<through<&PortPart::losses, &PortLosses::refused, &NotSent::frames>>(
          "refused", "Numbers of frames that it did not take, one a reason."),
      Row::of<through<&PortPart::losses, &PortLosses::lost, &NotSent::frames>>(
          "lost", "Numbers of frames that it took and lost, one a reason.")};
  static constexpr FigureTable kTable{"Frames that a port did not send.", kRows};
  return kTable;
}

std::vector<PortPart> port_parts_of(const std::vector<PortLosses>& ports) {
  std::vector<PortPart> parts;
  for (const PortLosses& losses : ports) parts.push_back({losses});
  return parts;
}

std::vector<PortLosses> ports_of(const std::vector<PortPart>& parts) {
  std::vector<PortLosses> ports;
  for (const PortPart& part : parts) ports.push_back(part.losses);
  return ports;
}

/// What a process sent: the members of RunReport that another process does not know.
const FigureTable& sent_part() {
  using Report = RunReport;
  using Row = FigureOf<Report>;
  static constexpr Figure kRows[] = {
      row_as<Report, &Report::flows, parts_of, flows_of>("flows", "The flows, in its order."),
      row_as<Report, &Report::ports, port_parts_of, ports_of>("ports", "The ports."),
      Row::of<&Report::elapsed>("elapsed", "Duration."),
      Row::of<&Report::started_late>("started_late", "Time after the agreed start."),
      Row::of<&Report::missed>("missed", "Frames that its ports lost before they were read."),
      row_as<Report, through<&Report::audit, &SendAudit::pacing_error>, part_of, histogram_of>(
          "pacing_error", "Time from due to hand-over, of bursts."),
      Row::of<through<&Report::audit, &SendAudit::late_frames>>("late_frames", "Late frames."),
      Row::of<through<&Report::audit, &SendAudit::icrc_checked>>("icrc_checked",
                                                                 "Frames whose ICRC it checked."),
      Row::of<through<&Report::audit, &SendAudit::bad_icrc>>("bad_icrc", "Those with a wrong one."),
      Row::of<through<&Report::caught_up, &CatchUp::skipped>>("skipped",
                                                              "Sum of the schedule's delays."),
      Row::of<through<&Report::caught_up, &CatchUp::stalls>>("stalls", "Number of these delays."),
      Row::of<through<&Report::pace, &PaceReport::behind>>("behind", "Lateness at the end."),
      Row::of<through<&Report::pace, &PaceReport::worst_second>>("worst_second",
                                                                 "Least share of a second."),
      Row::of<through<&Report::pace, &PaceReport::worst_at>>("worst_at", "Begin of that second."),
      Row::of<&Report::machine>("machine", "What the machine lost and delayed."),
      row_as<Report, &Report::ended_by, number_of<EndedBy>, value_of_number<EndedBy>>(
          "ended_by", "What ended the run.")
          .from(0, static_cast<double>(EndedBy::failure)),
      Row::of<&Report::duration>("duration", "Duration that was asked for."),
      Row::of<&Report::catch_up>("catch_up", "Limit of the lateness.")};
  static constexpr FigureTable kTable{"What one process sent.", kRows};
  return kTable;
}

const FigureTable& signed_part() {
  using Row = FigureOf<SignedPart>;
  static constexpr Figure kRows[] = {
      row_as<SignedPart, &SignedPart::latency, part_of, histogram_of>("latency", "Latencies."),
      row_as<SignedPart, &SignedPart::jitter, ns_of, jitter_of>("jitter", "Mean variation."),
      Row::of<&SignedPart::clock>("clock", "Clock of the newest frame."),
      Row::of<&SignedPart::version>("version", "Version of the signatures."),
      Row::of<&SignedPart::left_out>("left_out", "Latencies that are not counted."),
      Row::of<&SignedPart::damaged>("damaged", "Sequence numbers of damaged frames.")};
  static constexpr FigureTable kTable{"Signed frames.", kRows};
  return kTable;
}

template <auto... members>
constexpr auto kKey = through<&ReceiveFlow::stream, &StreamKey::key, members...>;
template <auto member>
constexpr auto kOrder = through<&ReceiveFlow::order, member>;

const FigureTable& flow_part() {
  using Flow = ReceiveFlow;
  using Row = FigureOf<Flow>;
  static constexpr Figure kRows[] = {
      row_as<Flow, kKey<&roce::FlowKey::source>, numbers_of, address_of>("source", "Address."),
      row_as<Flow, kKey<&roce::FlowKey::destination>, numbers_of, address_of>("destination",
                                                                              "Address."),
      Row::of<kKey<&roce::FlowKey::dest_qp>>("dest_qp", "Destination QP, or flow."),
      row_as<Flow, kKey<&roce::FlowKey::role>, number_of<wire::Role>, value_of_number<wire::Role>>(
          "role", "Role of the frames.")
          .from(0, static_cast<double>(wire::Role::notification)),
      Row::of<through<&Flow::stream, &StreamKey::source_qp>>("source_qp", "Source QP."),
      Row::of<through<&Flow::stream, &StreamKey::is_signed>>("is_signed", "Has signatures."),
      row_as<Flow, &Flow::tracker, next_of, tracker_at>("next", "Next sequence number."),
      row_as<Flow, &Flow::first, to_ns, instant_from_ns>("first", "Time of the first frame."),
      row_as<Flow, &Flow::last, to_ns, instant_from_ns>("last", "Time of the last frame."),
      Row::of<&Flow::opcode>("opcode", "Opcode of the first frame."),
      Row::of<&Flow::run>("run", "Run of the signatures."),
      Row::of<&Flow::frames>("frames", "Frames."),
      Row::of<&Flow::bytes>("bytes", "Their bytes."),
      Row::of<&Flow::icrc_checked>("icrc_checked", "Frames with a right ICRC."),
      Row::of<&Flow::bad_icrc>("bad_icrc", "Frames with a wrong ICRC."),
      Row::of<&Flow::ce_marks>("ce_marks", "Frames with Congestion Experienced."),
      Row::of<&Flow::acks>("acks", "ACKs."),
      Row::of<&Flow::sequence_naks>("sequence_naks", "NAKs of a sequence error."),
      Row::of<&Flow::rnr_naks>("rnr_naks", "NAKs of a receiver that is not ready."),
      Row::of<&Flow::other_naks>("other_naks", "Other NAKs."),
      Row::of<kOrder<&analysis::OrderCounts::lost>>("lost", "Missing frames."),
      Row::of<kOrder<&analysis::OrderCounts::duplicated>>("duplicated", "Copies."),
      Row::of<kOrder<&analysis::OrderCounts::out_of_order>>("out_of_order", "Late frames."),
      Row::of<kOrder<&analysis::OrderCounts::retransmitted>>("retransmitted", "Repeated PSNs."),
      Row::of<kOrder<&analysis::OrderCounts::beyond_window>>("beyond_window", "Too far behind."),
      Row::of<kOrder<&analysis::OrderCounts::restarts>>("restarts", "Restarts of the sender."),
      row_as<Flow, kOrder<&analysis::OrderCounts::extents>, part_of_any, any_histogram_of>(
          "extents", "Extents of reordering."),
      owned_row<Flow, &Flow::not_as_asked, NotAsAsked::figures>("not_as_asked",
                                                                "Differences from the profile."),
      owned_row<Flow, &Flow::signature, signed_part>("signature", "Signed frames.")};
  static constexpr FigureTable kTable{"One stream that a process received.", kRows};
  return kTable;
}

Json received_json(const Measurement& received) {
  Json flows = Json::array();
  for (const ReceiveFlow& flow : received.flows())
    flows.push_back(report::json_of(flow_part(), &flow));
  return {{"totals", report::json_of(received.totals())}, {"flows", std::move(flows)}};
}

/// Reads the object under `key`. Throws std::runtime_error, or an exception of nlohmann-json.
void read(const Json& json, const FigureTable& table, void* object) {
  if (const auto done = report::read_json(json, table, object); !done)
    throw std::runtime_error(done.error());
}

void add_sent(RunReport& whole, std::size_t rank, RunReport part,
              const std::vector<std::uint32_t>& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    whole.flows.at(ids[i]) = part.flows.at(i);
    whole.rank_of_flow.at(ids[i]) = static_cast<std::uint16_t>(rank);
  }
  const std::string& host = whole.hosts.at(rank);
  for (PortLosses& losses : part.ports) {
    losses.port = fmt::format("{}: {}", host, losses.port);
    whole.ports.push_back(std::move(losses));
  }
  whole.elapsed = std::max(whole.elapsed, part.elapsed);
  whole.audit.add(part.audit);
  whole.pace.add(part.pace);
  whole.machine.add(of_host(std::move(part.machine), host));
  whole.ended_by = std::max(whole.ended_by, part.ended_by);
  if (part.duration) whole.duration = part.duration;
  if (part.catch_up) whole.catch_up = part.catch_up;
  whole.caught_up.skipped = std::max(whole.caught_up.skipped, part.caught_up.skipped);
  whole.caught_up.stalls += part.caught_up.stalls;
}

MeasureTotals add_received(Measurement& whole, std::size_t rank, const Json& json) {
  MeasureTotals totals;
  read(json.at("totals"), MeasureTotals::figures(), &totals);
  whole.adopt(totals);
  for (const Json& each : json.at("flows")) {
    ReceiveFlow flow;
    read(each, flow_part(), &flow);
    flow.rank = static_cast<std::uint16_t>(rank);
    whole.adopt(std::move(flow));
  }
  return totals;
}

}  // namespace

std::string part_text(const RunReport& sent, const Measurement* received) {
  Json json = report::json_of(sent_part(), &sent);
  if (received != nullptr) json["received"] = received_json(*received);
  return report::json_line(json);
}

WholeRun::WholeRun(std::size_t flows, std::vector<std::string> hosts, const MeasureOptions& measure)
    : received(measure), parts(hosts.size()) {
  sent.flows.resize(flows);
  sent.rank_of_flow.resize(flows);
  sent.hosts = std::move(hosts);
}

Result<void> WholeRun::add(std::size_t rank, std::string_view text,
                           const std::vector<std::uint32_t>& ids) {
  try {
    const Json json = parse_json(text);
    RunReport part;
    read(json, sent_part(), &part);
    PartSums& sums = parts.at(rank).emplace();
    sums.started_late = part.started_late;
    sums.missed = part.missed;
    add_sent(sent, rank, std::move(part), ids);
    if (!json.contains("received")) return {};
    receives = true;
    sums.received = add_received(received, rank, json["received"]);
    return {};
  } catch (const std::exception& error) {  // text that is no JSON, a missing key, another type
    return fail(fmt::format("its results can't be read: {}", error.what()), ExitCode::failed);
  }
}

}  // namespace lw::gen
