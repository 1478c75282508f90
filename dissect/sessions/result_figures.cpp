// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/result_figures.h"

#include <fmt/format.h>

#include "dissect/sessions/display_filter.h"
#include "dissect/sessions/setup_words.h"
#include "report/figures/json.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::Message;
using analysis::Session;
using analysis::StreamCounts;

std::optional<std::int64_t> quantile(const auto& histogram, double share) {
  if (histogram.count() == 0) return std::nullopt;
  return histogram.quantile(share);
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string_view encapsulation_name(wire::Encapsulation encapsulation) {
  if (encapsulation == wire::Encapsulation::grh) return "RoCEv1";
  return encapsulation == wire::Encapsulation::ipv4 ? "RoCEv2/IPv4" : "RoCEv2/IPv6";
}

/// What a row of `connections` shows.
struct SessionRow {
  const CapturePoints& points;
  const Session& session;
  std::uint8_t direction;
  const Session::Direction &there, &back;
  const analysis::QpFlow& flow;
  std::optional<std::uint32_t> mtu;
  Ends ends;
  const StreamCounts& counts;
  const analysis::ConnectionSetup* setup;  // null: not captured

  [[nodiscard]] Duration duration() const {
    return capture::stamp_difference(counts.last, counts.first);
  }
  [[nodiscard]] std::optional<double> goodput() const {
    if (duration() <= Duration{}) return std::nullopt;
    return counts.goodput();
  }
};

// Set-up.

std::string address_of(const analysis::ConnectionSetup& setup, std::uint8_t side) {
  return address_text(side == analysis::ConnectionSetup::kRequester ? setup.requester
                                                                    : setup.replier);
}

std::optional<std::string> asked_by(const SessionRow& row) {
  if (row.setup == nullptr) return std::nullopt;
  return address_of(*row.setup, analysis::ConnectionSetup::kRequester);
}

std::optional<std::string> service(const SessionRow& row) {
  if (row.setup == nullptr || !row.setup->request) return std::nullopt;
  return service_text(row.setup->request->service_id);
}

std::optional<std::uint64_t> setup_frame(const SessionRow& row) {
  if (row.setup == nullptr) return std::nullopt;
  return row.setup->first_frame();
}

std::optional<std::string_view> setup_end(const SessionRow& row) {
  if (row.setup == nullptr) return std::nullopt;
  return name_of(row.setup->end());
}

std::optional<Duration> setup_duration(const SessionRow& row) {
  return row.setup == nullptr ? std::nullopt : row.setup->duration();
}

std::optional<std::string> agreed(const SessionRow& row) {
  if (row.setup == nullptr || !row.setup->request) return std::nullopt;
  return agreement_text(*row.setup);
}

std::optional<std::string> disconnected_by(const SessionRow& row) {
  const auto side = row.setup == nullptr ? std::nullopt : row.setup->disconnected_by();
  if (!side) return std::nullopt;
  return address_of(*row.setup, *side);
}

std::vector<std::pair<std::string, std::uint64_t>> naks_of(const SessionRow& row) {
  std::vector<std::pair<std::string, std::uint64_t>> naks;
  for (const auto& [code, count] : row.counts.naks) naks.emplace_back(fmt::to_string(code), count);
  return naks;
}

std::optional<std::int64_t> least_rtt(const SessionRow& row) {
  if (row.counts.rtt.count() == 0) return std::nullopt;
  return row.counts.rtt.minimum();
}

std::optional<std::int64_t> cnp_spacing(const SessionRow& row) {
  if (!row.back.cnp_spacing) return std::nullopt;
  return quantile(*row.back.cnp_spacing, 0.5);
}

template <int kPercent>
std::optional<std::int64_t> rtt(const SessionRow& row) {
  return quantile(row.counts.rtt, kPercent / 100.0);
}

using SessionFigure = FigureOf<SessionRow>;

/// The row of a count of requests and responses.
template <auto kMember>
constexpr Figure count_row(std::string_view name, std::string_view meaning,
                           Unit unit = Unit::none) {
  return SessionFigure::of<[](const SessionRow& row) -> const auto& {
    return row.counts.*kMember;
  }>(name, meaning, unit);
}

constexpr Figure kSessionRows[] = {
    SessionFigure::of<[](const SessionRow& r) { return r.session.number; }>(
        "connection", "Number of the connection, from 1.")
        .renamed_from("session"),
    SessionFigure::of<&SessionRow::direction>("direction", "Direction of the connection: 0 or 1."),
    SessionFigure::of<[](const SessionRow& r) -> const auto& {
      return r.points.name(r.flow.key.point);
    }>("point", "Capture point."),
    SessionFigure::of<[](const SessionRow& r) { return r.points.seen_at(r.flow.key.point); }>(
        "where", "Points that saw it: several of one path, or one."),
    SessionFigure::of<[](const SessionRow& r) { return r.points.points()[r.flow.key.point].by; }>(
        "point_decided_by",
        "What decided which interfaces the point has: one tap, name, halves, parts, views or "
        "option."),
    SessionFigure::of<[](const SessionRow& r) { return r.flow.transport; }>("transport",
                                                                            "RC, UC, UD or XRC."),
    SessionFigure::of<[](const SessionRow& r) { return encapsulation_name(r.flow.encapsulation); }>(
        "encapsulation", "RoCEv1, RoCEv2/IPv4 or RoCEv2/IPv6."),
    SessionFigure::of<[](const SessionRow& r) -> const auto& { return r.ends.from_address; }>(
        "from", "Address of the sender."),
    SessionFigure::of<[](const SessionRow& r) { return r.ends.from_qp; }>(
        "from_qp", "QP number of the sender; null if unknown.")
        .or_null(),
    SessionFigure::of<[](const SessionRow& r) -> const auto& { return r.ends.to_address; }>(
        "to", "Address of the receiver."),
    SessionFigure::of<[](const SessionRow& r) { return r.ends.to_qp; }>(
        "to_qp", "QP number of the receiver; null if unknown.")
        .or_null(),
    SessionFigure::of<[](const SessionRow& r) { return r.flow.paired_by; }>(
        "paired_by", "How the two directions were recognised."),
    SessionFigure::of<[](const SessionRow& r) { return r.session.first_frame; }>(
        "first_frame", "Number of the connection's first frame."),
    SessionFigure::of<[](const SessionRow& r) { return r.there.packets; }>(
        "packets", "Packets of this direction."),
    SessionFigure::of<&SessionRow::mtu>("mtu", "Path MTU, in bytes; null if unknown.", Unit::bytes)
        .or_null(),
    SessionFigure::of<[](const SessionRow& r) { return operations_text(r.counts); }>(
        "operations", "Operations of the requests."),
    count_row<&StreamCounts::packets>("requests", "Request packets."),
    count_row<&StreamCounts::responses>("responses", "Response packets to them."),
    SessionFigure::of<[](const SessionRow& r) {
      return r.there.stream ? r.there.stream->messages() : 0;
    }>("messages", "Messages."),
    SessionFigure::of<[](const SessionRow& r) { return r.counts.payload_passed(); }>(
        "payload_bytes", "Bytes of payload, each once; in a sample by PSNs.", Unit::bytes),
    count_row<&StreamCounts::first_psn>("first_psn", "First PSN; null without requests.").or_null(),
    SessionFigure::of<&SessionRow::duration>("duration_ns",
                                             "Time from the first to the last request.", Unit::ns),
    SessionFigure::of<&SessionRow::goodput>("goodput_bps", "Rate of payload; null for one instant.",
                                            Unit::bits_per_second)
        .or_null(),
    count_row<&StreamCounts::resent>("retransmitted", "Packets retransmitted.")
        .renamed_from("resent"),
    SessionFigure::of<[](const SessionRow& r) {
      return share_of(r.counts.resent, r.counts.packets);
    }>("retransmitted_share", "Their share of the requests, 0 to 1.")
        .renamed_from("resent_share"),
    count_row<&StreamCounts::recoveries>("recoveries", "Times that a sender went back."),
    SessionFigure::of<[](const SessionRow& r) {
      return r.counts.duplicates + r.counts.responses_duplicated;
    }>("duplicates", "Packets that came again."),
    SessionFigure::of<[](const SessionRow& r) {
      return r.counts.out_of_order + r.counts.responses_late;
    }>("out_of_order", "Packets that came after a newer one."),
    count_row<&StreamCounts::lost>("psns_skipped",
                                   "PSNs of requests that were lost before the capture point."),
    count_row<&StreamCounts::responses_lost>("response_psns_skipped",
                                             "PSNs of responses that were lost before it."),
    count_row<&StreamCounts::missing>("psns_missing_in_capture", "PSNs that the capture missed."),
    SessionFigure::of<naks_of>("naks", "NAKs by their code."),
    count_row<&StreamCounts::rnr_naks>("rnr_naks", "NAKs for a receiver that was not ready."),
    SessionFigure::of<[](const SessionRow& r) { return r.counts.rtt.count(); }>(
        "rtt_samples", "Round trips measured."),
    SessionFigure::of<least_rtt>("rtt_min_ns", "Shortest round trip.", Unit::ns).or_null(),
    SessionFigure::of<rtt<50>>("rtt_p50_ns", "Median.", Unit::ns).or_null(),
    SessionFigure::of<rtt<90>>("rtt_p90_ns", "90th percentile.", Unit::ns).or_null(),
    SessionFigure::of<rtt<99>>("rtt_p99_ns", "99th percentile.", Unit::ns).or_null(),
    count_row<&StreamCounts::most_outstanding>("most_outstanding",
                                               "Most PSNs of SEND and WRITE outstanding."),
    count_row<&StreamCounts::most_reads>("most_reads", "Most READs and atomics outstanding."),
    SessionFigure::of<[](const SessionRow& r) { return r.there.bad_icrcs; }>(
        "bad_icrc", "Packets with a bad ICRC."),
    SessionFigure::of<[](const SessionRow& r) { return r.there.congested; }>(
        "ce", "Packets marked Congestion Experienced."),
    SessionFigure::of<[](const SessionRow& r) {
      return share_of(r.there.congested, r.there.packets);
    }>("ce_share", "Their share, 0 to 1."),
    SessionFigure::of<[](const SessionRow& r) { return r.back.cnps; }>(
        "cnps", "CNPs to the sender of this direction."),
    SessionFigure::of<cnp_spacing>("cnp_spacing_p50_ns", "Median time between CNPs.", Unit::ns)
        .or_null(),
    SessionFigure::of<asked_by>(
        "asked_by", "Address of the side that asked for the connection; null: not captured.")
        .or_null(),
    SessionFigure::of<service>("service", "The service that it asked for, in words.").or_null(),
    SessionFigure::of<setup_frame>("setup_frame", "Number of the first frame of the set-up.")
        .or_null(),
    SessionFigure::of<setup_end>(
        "setup_end", "How the set-up ended: before, open, unanswered, rejected, unconfirmed, done.")
        .or_null(),
    SessionFigure::of<setup_duration>("setup_ns", "Time from the request to its confirmation.",
                                      Unit::ns)
        .or_null(),
    SessionFigure::of<agreed>("agreed", "What was agreed, in words.").or_null(),
    SessionFigure::of<disconnected_by>("disconnected_by",
                                       "Address of the side that ended the connection by DREQ.")
        .or_null()};

std::optional<std::string> hex_if(bool known, std::uint64_t value, int digits) {
  if (!known) return std::nullopt;
  return fmt::format("{:#0{}x}", value, digits + 2);
}

std::optional<std::uint64_t> completion_frame(const Message& message) {
  if (!message.completion) return std::nullopt;
  return message.completion->frame;
}

std::optional<Duration> latency(const Message& message) {
  if (!message.completion) return std::nullopt;
  return capture::stamp_difference(message.completion->stamp, message.first_stamp);
}

using MessageFigure = FigureOf<Message>;
constexpr int kKeyDigits = 8;

constexpr Figure kMessageRows[] = {
    MessageFigure::of<&Message::session>("connection", "Number of the connection, from 1.")
        .renamed_from("session"),
    MessageFigure::of<&Message::direction>("direction", "Direction of the connection: 0 or 1."),
    MessageFigure::of<&Message::transport>("transport", "Transport."),
    MessageFigure::of<&Message::operation>("operation", "RDMA operation."),
    MessageFigure::of<&Message::bytes>("bytes", "Bytes of payload.", Unit::bytes),
    MessageFigure::of<&Message::packets>("packets", "Packets."),
    MessageFigure::of<[](const Message& m) { return hex_if(m.has_address, m.va, 0); }>(
        "va", "Virtual address, hexadecimal; null without one.")
        .or_null(),
    MessageFigure::of<[](const Message& m) { return hex_if(m.has_address, m.r_key, kKeyDigits); }>(
        "r_key", "R_Key, hexadecimal; null without one.")
        .or_null(),
    MessageFigure::of<[](const Message& m) {
      return hex_if(m.has_immediate, m.immediate, kKeyDigits);
    }>("immediate", "Immediate data, hexadecimal; null without it.")
        .or_null(),
    MessageFigure::of<&Message::first_psn>("first_psn", "PSN of its first packet."),
    MessageFigure::of<&Message::first_frame>("first_frame", "Number of its first frame."),
    MessageFigure::of<&Message::last_frame>("last_frame", "Number of its last frame."),
    MessageFigure::of<completion_frame>("completion_frame",
                                        "Number of the frame that completed it; null if not seen.")
        .or_null(),
    MessageFigure::of<latency>("latency_ns", "Time from the first frame to the completion.",
                               Unit::ns)
        .or_null(),
    MessageFigure::of<&Message::resent>("retransmitted_packets", "Packets retransmitted.")
        .renamed_from("resent_packets"),
    MessageFigure::of<&Message::partial>("partial", "True if it was not captured completely.")};

/// What a row of `messages --by` shows.
struct GroupRow {
  Grouping by;
  const MessageGroups::value_type& entry;

  [[nodiscard]] const MessageGroup& group() const { return entry.second; }
  [[nodiscard]] std::optional<std::string_view> operation() const {
    if (by == Grouping::size) return std::nullopt;
    return std::get<0>(entry.first);
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const {
    if (by == Grouping::operation) return std::nullopt;
    return std::get<1>(entry.first);
  }
  [[nodiscard]] std::optional<std::int64_t> least() const {
    if (group().latency.count() == 0) return std::nullopt;
    return group().latency.minimum();
  }
  [[nodiscard]] std::optional<std::int64_t> most() const {
    if (group().latency.count() == 0) return std::nullopt;
    return group().latency.maximum();
  }
  template <int kPercent>
  [[nodiscard]] std::optional<std::int64_t> percentile() const {
    return quantile(group().latency, kPercent / 100.0);
  }
};

using GroupFigure = FigureOf<GroupRow>;

constexpr Figure kGroupRows[] = {
    GroupFigure::of<&GroupRow::operation>("operation", "RDMA operation."),
    GroupFigure::of<&GroupRow::size>("size", "Message size, in bytes.", Unit::bytes),
    GroupFigure::of<[](const GroupRow& r) { return r.group().messages; }>("messages", "Messages."),
    GroupFigure::of<[](const GroupRow& r) { return r.group().bytes; }>("bytes", "Bytes of payload.",
                                                                       Unit::bytes),
    GroupFigure::of<[](const GroupRow& r) { return r.group().resent; }>("retransmitted_packets",
                                                                        "Packets retransmitted.")
        .renamed_from("resent_packets"),
    GroupFigure::of<[](const GroupRow& r) { return r.group().incomplete; }>(
        "without_completion", "Messages whose completion was not seen."),
    GroupFigure::of<&GroupRow::least>("latency_min_ns", "Shortest time to the completion.",
                                      Unit::ns)
        .or_null(),
    GroupFigure::of<&GroupRow::percentile<50>>("latency_p50_ns", "Median.", Unit::ns).or_null(),
    GroupFigure::of<&GroupRow::percentile<90>>("latency_p90_ns", "90th percentile.", Unit::ns)
        .or_null(),
    GroupFigure::of<&GroupRow::percentile<99>>("latency_p99_ns", "99th percentile.", Unit::ns)
        .or_null(),
    GroupFigure::of<&GroupRow::most>("latency_max_ns", "Longest.", Unit::ns).or_null()};

/// One of several explanations.
const FigureTable& hypothesis_figures() {
  using analysis::Hypothesis;
  using Row = FigureOf<Hypothesis>;
  static constexpr Figure kRows[] = {
      Row::of<&Hypothesis::kind>("kind", "Kind of anomaly."),
      Row::of<[](const Hypothesis& h) { return token_of(h.cause); }>("cause", "Its cause.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

std::optional<std::uint64_t> related_frame(const Anomaly& anomaly) {
  if (anomaly.related_frame == 0) return std::nullopt;
  return anomaly.related_frame;
}

using AnomalyFigure = FigureOf<Anomaly>;

constexpr Figure kAnomalyRows[] = {
    AnomalyFigure::of<&Anomaly::frame>("frame", "Number of the frame where it shows."),
    AnomalyFigure::of<&Anomaly::last_frame>("last_frame", "Number of its last frame."),
    AnomalyFigure::of<[](const Anomaly& a) { return to_ns(a.stamp); }>(
        "time_ns", "Time stamp of the frame, since 1970.", Unit::ns),
    AnomalyFigure::of<&Anomaly::session>("connection",
                                         "Number of the connection, from 1; 0 for the capture.")
        .renamed_from("session"),
    AnomalyFigure::of<&Anomaly::direction>("direction", "Direction of the connection: 0 or 1."),
    AnomalyFigure::of<&Anomaly::kind>("kind", "Kind of anomaly."),
    AnomalyFigure::of<&Anomaly::certainty>(
        "certainty",
        "certain: kind and cause are what happened; either: one of the alternatives; unknown: the "
        "capture cannot tell."),
    AnomalyFigure::of<[](const Anomaly& a) { return token_of(a.cause); }>(
        "cause",
        "Cause, as a word of the manual's table; none: without one. Unless certain: the "
        "likeliest."),
    AnomalyFigure::of<&Anomaly::cause>("cause_text", "The cause in words."),
    AnomalyFigure::list_with_table<&Anomaly::alternatives, hypothesis_figures>(
        "alternatives", "What it may be, the likeliest first; empty unless certainty is either."),
    AnomalyFigure::of<&Anomaly::role>("role", "request or response."),
    AnomalyFigure::of<&Anomaly::psn>("psn", "PSN."),
    AnomalyFigure::of<&Anomaly::packets>("packets", "Packets concerned."),
    AnomalyFigure::of<&Anomaly::duration>("duration_ns", "Its duration.", Unit::ns),
    AnomalyFigure::of<related_frame>("related_frame",
                                     "Number of a frame that explains it; null without one.")
        .or_null(),
    AnomalyFigure::of<&Anomaly::detail>("detail", "More about it."),
    AnomalyFigure::of<&Anomaly::where>(
        "where",
        "Where it happened, if several points tell: between two points, before the first one that "
        "it passes or behind the last; otherwise empty.")};

/// A message or an anomaly, and the capture point of its session; null: that of no session.
template <class Found>
struct AtPoint {
  const Found& found;
  const analysis::Analyst& analyst;
  const CapturePointInfo* point = nullptr;
  std::string where = {};

  AtPoint(const Found& what, const analysis::Analyst& analysed, const CapturePoints& points)
      : found(what), analyst(analysed) {
    if (what.session == 0) return;
    const auto& [one, other] = analyst.sessions()[what.session - 1].directions;
    const std::uint32_t flow = one.flow != analysis::QpFlow::kNone ? one.flow : other.flow;
    point = &points.points()[analyst.flows()[flow].key.point];
  }
  [[nodiscard]] std::optional<std::string> name() const {
    return point == nullptr ? std::nullopt : std::optional(point->name);
  }
  [[nodiscard]] std::optional<std::string> decided_by() const {
    return point == nullptr ? std::nullopt : std::optional(std::string(name_of(point->by)));
  }
};

template <class Found>
constexpr Figure kPointRows[] = {
    FigureOf<AtPoint<Found>>::template of<&AtPoint<Found>::name>(
        "point", "Capture point; null for the whole capture.")
        .or_null(),
    FigureOf<AtPoint<Found>>::template of<&AtPoint<Found>::decided_by>(
        "point_decided_by", "What decided which interfaces the point has.")
        .or_null()};

const FigureTable& plain_message_figures() {
  static constexpr FigureTable kTable{{}, kMessageRows};
  return kTable;
}

const FigureTable& plain_anomaly_figures() {
  static constexpr FigureTable kTable{{}, kAnomalyRows};
  return kTable;
}

}  // namespace

const FigureTable& session_figures() {
  static constexpr FigureTable kTable{"A direction of a connection; a line each.", kSessionRows};
  return kTable;
}

const FigureTable& message_figures() {
  using Row = FigureOf<AtPoint<Message>>;
  static constexpr Figure kRows[] = {
      Row::with_table<[](const AtPoint<Message>& m) -> const auto& { return m.found; },
                      plain_message_figures>(),
      kPointRows<Message>[0], kPointRows<Message>[1],
      Row::of<&AtPoint<Message>::where>(
          "where",
          "Where packets of it were lost or late, between two points of a path; otherwise empty.")};
  static constexpr FigureTable kTable{"A message; a line each.", kRows};
  return kTable;
}

const FigureTable& group_figures() {
  static constexpr FigureTable kTable{"Messages of one operation or size; a line each.",
                                      kGroupRows};
  return kTable;
}

const FigureTable& anomaly_figures() {
  using Row = FigureOf<AtPoint<Anomaly>>;
  static constexpr Figure kRows[] = {
      Row::with_table<[](const AtPoint<Anomaly>& a) -> const auto& { return a.found; },
                      plain_anomaly_figures>(),
      Row::of<[](const AtPoint<Anomaly>& a) { return display_filter(a.found, a.analyst); }>(
          "display_filter", "Wireshark's display filter for its packets."),
      kPointRows<Anomaly>[0], kPointRows<Anomaly>[1]};
  static constexpr FigureTable kTable{"An anomaly; a line each.", kRows};
  return kTable;
}

report::Json session_row(const analysis::Analyst& analyst, const CapturePoints& points,
                         const Session& session, std::uint8_t direction) {
  static const StreamCounts kNothing;
  const Session::Direction& there = session.directions[direction];
  const Session::Direction& back = session.directions[1 - direction];
  const bool is_there = there.flow != analysis::QpFlow::kNone;
  const SessionRow row{.points = points,
                       .session = session,
                       .direction = direction,
                       .there = there,
                       .back = back,
                       .flow = analyst.flows()[is_there ? there.flow : back.flow],
                       .mtu = is_there ? analyst.flows().mtu_of(there.flow) : std::nullopt,
                       .ends = ends_of(analyst, session, direction),
                       .counts = there.stream ? there.stream->counts() : kNothing,
                       .setup = analyst.setup_of(session)};
  return report::json_of(session_figures(), &row);
}

report::Json message_row(const Message& message, const analysis::Analyst& analyst,
                         const CapturePoints& points, const std::string& where) {
  AtPoint<Message> row(message, analyst, points);
  row.where = where;
  return report::json_of(message_figures(), &row);
}

report::Json group_row(Grouping by, const MessageGroups::value_type& entry) {
  const GroupRow row{by, entry};
  return report::json_of(group_figures(), &row);
}

report::Json anomaly_row(const Anomaly& anomaly, const analysis::Analyst& analyst,
                         const CapturePoints& points) {
  const AtPoint<Anomaly> row(anomaly, analyst, points);
  return report::json_of(anomaly_figures(), &row);
}

}  // namespace lw::dissect
