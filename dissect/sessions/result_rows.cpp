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

std::string_view arrow(std::uint8_t direction) { return direction == 0 ? "->" : "<-"; }

/// The columns of frame and time, with the space behind them.
std::string row_begin(std::uint64_t frame, const std::string& time) {
  return time.empty() ? fmt::format("{:>9}  ", frame) : fmt::format("{:>9}  {:>13}  ", frame, time);
}

/// Whether the detail repeats the cause: a NAK's detail is its code.
bool names_its_cause(const Anomaly& anomaly) {
  using analysis::AnomalyKind;
  return anomaly.kind == AnomalyKind::nak || anomaly.kind == AnomalyKind::rnr_nak;
}

/// "lost before the capture point, or missing in the capture"; "the capture cannot tell why".
std::string cause_words(const Anomaly& anomaly) {
  using analysis::Certainty;
  if (anomaly.certainty == Certainty::unknown) return "the capture cannot tell why";
  if (anomaly.certainty == Certainty::certain) return std::string(analysis::name_of(anomaly.cause));
  std::string words;
  for (const analysis::Hypothesis& one : anomaly.alternatives)
    words += fmt::format("{}{}", words.empty() ? "" : ", or ", analysis::name_of(one));
  return words;
}

}  // namespace

std::string_view verb(std::uint64_t count, std::string_view one, std::string_view several) {
  return count == 1 ? one : several;
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

std::string message_text(const Message& message, const std::string& where,
                         const std::string& time) {
  std::string text =
      fmt::format("{}connection {} {}  {} {}, {} bytes in {}, PSN {}",
                  row_begin(message.first_frame, time), message.session, arrow(message.direction),
                  wire::name_of(message.transport), wire::name_of(message.operation), message.bytes,
                  counted(message.packets, "packet"), message.first_psn);
  if (message.has_address) text += fmt::format(", va {:#x} rkey {:#x}", message.va, message.r_key);
  if (message.has_immediate) text += fmt::format(", immediate {:#x}", message.immediate);
  if (message.resent > 0)
    text += fmt::format(", {} retransmitted", counted(message.resent, "packet"));
  if (!where.empty()) text += fmt::format(", lost or late at {}", where);
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

std::string anomaly_words(const Anomaly& anomaly) {
  const bool of_response = anomaly.role == wire::Role::response;
  std::string text = fmt::format("{}PSN {}", of_response ? "response " : "", anomaly.psn);
  if (anomaly.packets != 1) text += fmt::format(", {} packets", anomaly.packets);
  if (anomaly.last_frame != anomaly.frame) text += fmt::format(", to frame {}", anomaly.last_frame);
  if (const std::string cause = cause_words(anomaly); !cause.empty() && !names_its_cause(anomaly))
    text += fmt::format(": {}", cause);
  if (!anomaly.detail.empty()) text += fmt::format(": {}", anomaly.detail);
  if (!anomaly.where.empty()) text += fmt::format(" [{}]", anomaly.where);
  if (anomaly.related_frame != 0 && anomaly.related_frame != anomaly.frame)
    text += fmt::format(" (frame {})", anomaly.related_frame);
  if (anomaly.duration != Duration{})
    text += fmt::format(", {}", format_duration(anomaly.duration));
  return text;
}

std::string anomaly_text(const Anomaly& anomaly, const std::string& time) {
  const std::string begin = row_begin(anomaly.frame, time);
  if (anomaly.session == 0)
    return fmt::format("{}{:<16}  {:<18}  {} to frame {}: {}\n", begin,
                       anomaly.kind == analysis::AnomalyKind::pause ? "capture" : "set-up",
                       analysis::name_of(anomaly.kind), counted(anomaly.packets, "frame"),
                       anomaly.last_frame, anomaly.detail);
  return fmt::format("{}connection {} {}  {:<18}  {}\n", begin, anomaly.session,
                     arrow(anomaly.direction), analysis::name_of(anomaly.kind),
                     anomaly_words(anomaly));
}

}  // namespace lw::dissect
