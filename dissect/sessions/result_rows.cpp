// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/result_rows.h"

#include <set>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::Message;
using analysis::Session;
using analysis::StreamCounts;
using report::Json;

Json optional_json(const auto& value) { return value ? Json(*value) : Json(); }

double seconds_of(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

Json quantile(const CompactHistogram& histogram, double share) {
  return histogram.count() == 0 ? Json() : Json(histogram.quantile(share));
}

Json naks_json(const StreamCounts& counts) {
  Json naks = Json::object();
  for (const auto& [code, count] : counts.naks) naks[fmt::format("{}", code)] = count;
  return naks;
}

void add_requests(Json& row, const StreamCounts& counts, std::uint64_t messages) {
  const double span = seconds_of(capture::stamp_difference(counts.last, counts.first));
  row["operations"] = operations_text(counts);
  row["requests"] = counts.packets;
  row["responses"] = counts.responses;
  row["messages"] = messages;
  row["payload_bytes"] = counts.payload;
  row["first_psn"] = optional_json(counts.first_psn);
  row["duration_ns"] = capture::stamp_difference(counts.last, counts.first).count();
  row["goodput_bps"] = span > 0 ? Json(static_cast<double>(counts.payload) * 8 / span) : Json();
  row["resent"] = counts.resent;
  row["resent_share"] = counts.packets == 0 ? 0.0
                                            : static_cast<double>(counts.resent) /
                                                  static_cast<double>(counts.packets);
  row["recoveries"] = counts.recoveries;
  row["duplicates"] = counts.duplicates + counts.responses_duplicated;
  row["out_of_order"] = counts.out_of_order + counts.responses_late;
  row["psns_skipped"] = counts.lost;
  row["response_psns_skipped"] = counts.responses_lost;
  row["psns_missing_in_capture"] = counts.missing;
  row["naks"] = naks_json(counts);
  row["rnr_naks"] = counts.rnr_naks;
  row["rtt_samples"] = counts.rtt.count();
  row["rtt_min_ns"] = counts.rtt.count() == 0 ? Json() : Json(counts.rtt.minimum());
  row["rtt_p50_ns"] = quantile(counts.rtt, 0.5);
  row["rtt_p90_ns"] = quantile(counts.rtt, 0.9);
  row["rtt_p99_ns"] = quantile(counts.rtt, 0.99);
  row["most_outstanding"] = counts.most_outstanding;
  row["most_reads"] = counts.most_reads;
}

std::string encapsulation_name(wire::Encapsulation encapsulation) {
  if (encapsulation == wire::Encapsulation::grh) return "RoCEv1";
  return encapsulation == wire::Encapsulation::ipv4 ? "RoCEv2/IPv4" : "RoCEv2/IPv6";
}

std::string_view arrow(std::uint8_t direction) { return direction == 0 ? "->" : "<-"; }

/// Whether the detail repeats the cause: a NAK's detail is its code.
bool names_its_cause(const Anomaly& anomaly) {
  using analysis::AnomalyKind;
  return anomaly.kind == AnomalyKind::nak || anomaly.kind == AnomalyKind::rnr_nak;
}

Json alternatives_json(const Anomaly& anomaly) {
  Json all = Json::array();
  for (const analysis::Hypothesis& one : anomaly.alternatives)
    all.push_back(
        {{"kind", analysis::name_of(one.kind)}, {"cause", analysis::token_of(one.cause)}});
  return all;
}

/// "lost before the capture point, or missing in the capture"; "the capture cannot tell why".
std::string cause_words(const Anomaly& anomaly) {
  using analysis::Certainty;
  if (anomaly.certainty == Certainty::unknown) return "the capture cannot tell why";
  if (anomaly.certainty == Certainty::certain) return std::string(analysis::name_of(anomaly.cause));
  std::string words;
  for (const analysis::Hypothesis& one : anomaly.alternatives)
    words += fmt::format("{}{}", words.empty() ? "" : ", or ", analysis::name_of(one.cause));
  return words;
}

Json address_json(const Message& message) {
  return message.has_address ? Json(fmt::format("{:#x}", message.va)) : Json();
}

constexpr std::pair<const char*, double> kShares[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};

}  // namespace

std::string_view verb(std::uint64_t count, std::string_view one, std::string_view several) {
  return count == 1 ? one : several;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string operations_text(const StreamCounts& counts) {
  std::set<std::string_view> names;
  for (const auto& [opcode, count] : counts.opcodes)
    names.insert(wire::name_of(wire::find_opcode(opcode)->operation));
  return fmt::format("{}", fmt::join(names, ", "));
}

bool has_traffic(const Session& session, std::uint8_t direction) {
  const Session::Direction& one = session.directions[direction];
  if (one.stream != nullptr || session.directions[1 - direction].stream != nullptr)
    return one.stream != nullptr;
  // The bad ICRC of a single packet may come from a damaged header.
  return one.packets > 1 || one.bad_icrcs < one.packets;
}

Json session_row(const analysis::Analyst& analyst, const CapturePoints& points,
                 const Session& session, std::uint8_t direction) {
  const Session::Direction& there = session.directions[direction];
  const Session::Direction& back = session.directions[1 - direction];
  const bool is_there = there.flow != analysis::QpFlow::kNone;
  const analysis::QpFlow& flow = analyst.flows()[is_there ? there.flow : back.flow];
  const Ends ends = ends_of(analyst, session, direction);
  Json row;
  row["session"] = session.number;
  row["direction"] = direction;
  row["point"] = points.names()[flow.key.point];
  row["transport"] = wire::name_of(flow.transport);
  row["encapsulation"] = encapsulation_name(flow.encapsulation);
  row["from"] = ends.from_address;
  row["from_qp"] = optional_json(ends.from_qp);
  row["to"] = ends.to_address;
  row["to_qp"] = optional_json(ends.to_qp);
  row["paired_by"] = analysis::name_of(flow.paired_by);
  row["first_frame"] = session.first_frame;
  row["packets"] = there.packets;
  row["mtu"] = is_there ? optional_json(analyst.flows().mtu_of(there.flow)) : Json();
  static const StreamCounts kNothing;
  add_requests(row, there.stream ? there.stream->counts() : kNothing,
               there.stream ? there.stream->messages() : 0);
  row["bad_icrcs"] = there.bad_icrcs;
  row["ce"] = there.congested;
  row["ce_share"] = there.packets == 0
                        ? 0.0
                        : static_cast<double>(there.congested) / static_cast<double>(there.packets);
  row["cnps"] = back.cnps;  // to the sender of this direction
  row["cnp_spacing_p50_ns"] = back.cnp_spacing ? quantile(*back.cnp_spacing, 0.5) : Json();
  return row;
}

Json message_row(const Message& message) {
  Json row;
  row["session"] = message.session;
  row["direction"] = message.direction;
  row["transport"] = wire::name_of(message.transport);
  row["operation"] = wire::name_of(message.operation);
  row["bytes"] = message.bytes;
  row["packets"] = message.packets;
  row["va"] = address_json(message);
  row["r_key"] = message.has_address ? Json(fmt::format("{:#010x}", message.r_key)) : Json();
  row["immediate"] =
      message.has_immediate ? Json(fmt::format("{:#010x}", message.immediate)) : Json();
  row["first_psn"] = message.first_psn;
  row["first_frame"] = message.first_frame;
  row["last_frame"] = message.last_frame;
  row["completion_frame"] = message.completion ? Json(message.completion->frame) : Json();
  row["latency_ns"] =
      message.completion
          ? Json(capture::stamp_difference(message.completion->stamp, message.first_stamp).count())
          : Json();
  row["resent_packets"] = message.resent;
  row["partial"] = message.partial;
  return row;
}

std::string message_text(const Message& message) {
  std::string text = fmt::format(
      "{:>9}  session {} {}  {} {}, {} bytes in {}, PSN {}", message.first_frame, message.session,
      arrow(message.direction), wire::name_of(message.transport), wire::name_of(message.operation),
      message.bytes, counted(message.packets, "packet"), message.first_psn);
  if (message.has_address) text += fmt::format(", va {:#x} rkey {:#x}", message.va, message.r_key);
  if (message.has_immediate) text += fmt::format(", immediate {:#x}", message.immediate);
  if (message.resent > 0) text += fmt::format(", {} resent", counted(message.resent, "packet"));
  if (message.partial) text += ", not captured completely";
  if (!message.completion) return text + ", completion not seen\n";
  const Duration latency =
      capture::stamp_difference(message.completion->stamp, message.first_stamp);
  return text + fmt::format(", completed by frame {} after {}\n", message.completion->frame,
                            format_duration(latency));
}

void add_to(MessageGroups& groups, Grouping by, const Message& message) {
  const bool operation = by != Grouping::size, size = by != Grouping::operation;
  MessageGroup& group = groups[{operation ? wire::name_of(message.operation) : std::string_view{},
                                size ? message.bytes : 0}];
  ++group.messages;
  group.bytes += message.bytes;
  group.resent += message.resent;
  if (!message.completion) {
    ++group.incomplete;
    return;
  }
  group.latency.add(
      capture::stamp_difference(message.completion->stamp, message.first_stamp).count());
}

Json group_row(Grouping by, const MessageGroups::value_type& entry) {
  const auto& [operation, size] = entry.first;
  const MessageGroup& group = entry.second;
  Json row;
  if (by != Grouping::size) row["operation"] = operation;
  if (by != Grouping::operation) row["size"] = size;
  row["messages"] = group.messages;
  row["bytes"] = group.bytes;
  row["resent_packets"] = group.resent;
  row["without_completion"] = group.incomplete;
  const bool any = group.latency.count() > 0;
  row["latency_min_ns"] = any ? Json(group.latency.minimum()) : Json();
  for (const auto& [name, share] : kShares)
    row[fmt::format("latency_{}_ns", name)] = any ? Json(group.latency.quantile(share)) : Json();
  row["latency_max_ns"] = any ? Json(group.latency.maximum()) : Json();
  return row;
}

Json anomaly_row(const Anomaly& anomaly) {
  Json row;
  row["frame"] = anomaly.frame;
  row["last_frame"] = anomaly.last_frame;
  row["time_ns"] = to_ns(anomaly.stamp);
  row["session"] = anomaly.session;
  row["direction"] = anomaly.direction;
  row["kind"] = analysis::name_of(anomaly.kind);
  row["certainty"] = analysis::name_of(anomaly.certainty);
  row["cause"] = analysis::token_of(anomaly.cause);
  row["cause_text"] = analysis::name_of(anomaly.cause);
  row["alternatives"] = alternatives_json(anomaly);
  row["role"] = wire::name_of(anomaly.role);
  row["psn"] = anomaly.psn;
  row["packets"] = anomaly.packets;
  row["duration_ns"] = anomaly.duration.count();
  row["related_frame"] = anomaly.related_frame == 0 ? Json() : Json(anomaly.related_frame);
  row["detail"] = anomaly.detail;
  return row;
}

std::string anomaly_words(const Anomaly& anomaly) {
  const bool of_response = anomaly.role == wire::Role::response;
  std::string text = fmt::format("{}PSN {}", of_response ? "response " : "", anomaly.psn);
  if (anomaly.packets != 1) text += fmt::format(", {} packets", anomaly.packets);
  if (anomaly.last_frame != anomaly.frame) text += fmt::format(", to frame {}", anomaly.last_frame);
  if (const std::string cause = cause_words(anomaly); !cause.empty() && !names_its_cause(anomaly))
    text += fmt::format(": {}", cause);
  if (!anomaly.detail.empty()) text += fmt::format(": {}", anomaly.detail);
  if (anomaly.related_frame != 0 && anomaly.related_frame != anomaly.frame)
    text += fmt::format(" (frame {})", anomaly.related_frame);
  if (anomaly.duration != Duration{})
    text += fmt::format(", {}", format_duration(anomaly.duration));
  return text;
}

std::string anomaly_text(const Anomaly& anomaly) {
  if (anomaly.session == 0)
    return fmt::format("{:>9}  {:<13}  {:<18}  {} frames to frame {}: {}\n", anomaly.frame,
                       "capture", analysis::name_of(anomaly.kind), anomaly.packets,
                       anomaly.last_frame, anomaly.detail);
  return fmt::format("{:>9}  session {} {}  {:<18}  {}\n", anomaly.frame, anomaly.session,
                     arrow(anomaly.direction), analysis::name_of(anomaly.kind),
                     anomaly_words(anomaly));
}

}  // namespace lw::dissect
