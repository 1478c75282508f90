// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/upper/command_reader.h"

#include <algorithm>
#include <compare>
#include <ranges>
#include <set>
#include <span>

#include <fmt/format.h>

#include "dissect/upper/command_packets.h"
#include "dissect/upper/command_pairs.h"
#include "roce/frame.h"
#include "upper/limits.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::AnomalyKind;
using analysis::Cause;
using analysis::Certainty;
using upper::Part;
using upper::StorageCommand;

/// The commands of all points, while the capture is read.
struct Collected {
  FoundCommands commands;
  std::uint64_t left_out = 0;

  void add(const StorageCommand& command) {
    commands.push_back(std::make_unique<FoundCommand>(FoundCommand{.command = command}));
    if (commands.size() >= 2 * upper::kMostRows) drop_fastest();
  }
  void drop_fastest() {
    if (commands.size() <= upper::kMostRows) return;
    const auto middle = commands.begin() + static_cast<std::ptrdiff_t>(upper::kMostRows);
    std::ranges::nth_element(commands, middle, std::greater{},
                             [](const auto& found) { return found->command.host_time(); });
    left_out += commands.size() - upper::kMostRows;
    commands.resize(upper::kMostRows);
  }
};

/// Whether the receiver had the packet already, or had it late: nothing was lost.
bool is_needless(AnomalyKind kind, Cause cause) noexcept {
  return kind == AnomalyKind::duplicate || cause == Cause::ack_lost || cause == Cause::reordered ||
         cause == Cause::timer_too_short;
}

bool is_needless(const Anomaly& anomaly) noexcept {
  return anomaly.certainty == Certainty::certain && is_needless(anomaly.kind, anomaly.cause);
}

/// Whether the capture cannot tell if the receiver needed the packets.
bool is_doubtful(const Anomaly& anomaly) noexcept {
  return anomaly.certainty == Certainty::either &&
         std::ranges::any_of(anomaly.alternatives, [](const analysis::Hypothesis& one) {
           return is_needless(one.kind, one.cause);
         });
}

/// `without_nak`: the receiver had no reason for one.
std::string causes_of(const Anomaly& anomaly, bool without_nak) {
  if (anomaly.certainty == Certainty::unknown) return "unknown";
  if (anomaly.certainty == Certainty::certain) return std::string(token_of(anomaly.cause));
  std::string text;
  for (const analysis::Hypothesis& one : anomaly.alternatives)
    if (!without_nak || one.cause != Cause::sequence_nak)
      text += fmt::format("{}{}", text.empty() ? "" : " or ", token_of(one.cause));
  return text.empty() ? "unknown" : text;
}

/// The anomaly that has the frame of a command that came again; null: none.
const Anomaly* recovery_with(const StorageCommand& command,
                             std::span<const Anomaly> anomalies) noexcept {
  const Anomaly* best = nullptr;
  for (const Anomaly& one : anomalies) {
    const bool has =
        one.frame <= command.recovery_frame && command.recovery_frame <= one.last_frame;
    if (has && (best == nullptr || one.kind == AnomalyKind::retransmission)) best = &one;
  }
  return best;
}

/// Names the cause of a recovery. Where the receiver did not need what came again, its time is the
/// target's or the host's; where nobody can tell, it is undecided.
void judge_recovery(FoundCommand& found, std::span<const Anomaly> anomalies) {
  StorageCommand& command = found.command;
  if (command.recovery_frame == 0) return;
  const Anomaly* const recovery = recovery_with(command, anomalies);
  found.recovery_cause =
      recovery == nullptr ? "unknown" : causes_of(*recovery, command.recovery_of_newest);
  if (recovery == nullptr) return;
  Duration& part = command.part(Part::recovery);
  if (is_doubtful(*recovery)) command.part(Part::undecided) += part;
  if (is_needless(*recovery)) {
    if (command.delay_count > 0)
      command.delays[0].length += part;
    else
      command.part(Part::path_or_target) += part;
  }
  if (is_doubtful(*recovery) || is_needless(*recovery)) part = command.target_recovery = {};
}

/// What the transport shows about the sides of a command's connection.
upper::PathFacts path_facts_of(const analysis::Analyst& analyst, const StorageCommand& command) {
  const analysis::Session& session = analyst.sessions()[command.connection - 1];
  const auto round_trip = [&](std::uint8_t direction) -> std::optional<Duration> {
    const std::uint32_t flow = session.directions[direction].flow;
    if (flow == analysis::QpFlow::kNone) return std::nullopt;
    return analyst.flows().round_trip_to_source(flow);
  };
  upper::PathFacts facts{.to_target = round_trip(1 - command.direction),
                         .to_host = round_trip(command.direction)};
  const analysis::ConnectionSetup* const setup = analyst.setup_of(session);
  constexpr std::int64_t kUnitNs = 4096;
  if (setup != nullptr && setup->request && setup->request->timeout > 0)
    facts.timer = Duration{kUnitNs << std::min<int>(setup->request->timeout, 31)};
  return facts;
}

std::uint32_t point_of_connection(const analysis::Analyst& analyst, std::uint32_t connection) {
  const auto& [one, other] = analyst.sessions()[connection - 1].directions;
  return analyst.flows()[one.flow != analysis::QpFlow::kNone ? one.flow : other.flow].key.point;
}

FoundConnection upper_connection_of(const analysis::Analyst& analyst,
                                    const upper::UpperFacts& facts) {
  const analysis::Session& session = analyst.sessions()[facts.connection - 1];
  FoundConnection found{.facts = facts,
                        .point = point_of_connection(analyst, facts.connection),
                        .ends = ends_of(analyst, session, facts.client)};
  const analysis::ConnectionSetup* const setup = analyst.setup_of(session);
  if (setup == nullptr || !setup->request) return found;
  found.service = setup->request->service_id;
  if (facts.protocol != upper::UpperProtocol::unknown) return found;
  found.facts.protocol = upper::protocol_of_service(*found.service);
  if (found.facts.protocol != upper::UpperProtocol::unknown)
    found.facts.recognised_by = upper::RecognisedBy::service;
  return found;
}

void add_to_groups(CommandGroups& groups, const StorageCommand& command) {
  if (command.waits_for_event) return;
  CommandGroup& group = groups[{command.protocol, command.operation, command.bytes}];
  ++group.commands;
  group.failed += command.failed;
  if (command.ended)
    group.latency.add(command.latency().count());
  else
    ++group.without_end;
}

/// The place of a command in the order of rows: slow ones first, then those without completion,
/// then what waits for an event.
struct RowOrder {
  int rank = 0;
  std::int64_t fast_ns = 0;
  std::uint64_t begin_frame = 0;
  std::size_t index = 0;
  auto operator<=>(const RowOrder&) const = default;
};

void sort_slowest_first(FoundCommands& commands) {
  std::vector<RowOrder> order;
  order.reserve(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const StorageCommand& command = commands[i]->command;
    const int rank = command.waits_for_event ? 2 : command.ended ? 0 : 1;
    order.push_back({rank, -command.host_time().count(), command.begin_frame, i});
  }
  std::ranges::sort(order);
  FoundCommands sorted;
  sorted.reserve(commands.size());
  for (const RowOrder& row : order) sorted.push_back(std::move(commands[row.index]));
  commands = std::move(sorted);
}

/// The groups of all connections together, but for those whose commands another point has, too.
CommandGroups groups_without(const std::map<std::uint32_t, CommandGroups>& groups,
                             const std::set<std::uint32_t>& farther) {
  CommandGroups joined;
  for (const auto& [connection, some] : groups) {
    if (farther.contains(connection)) continue;
    for (const auto& [key, group] : some) {
      CommandGroup& all = joined[key];
      all.commands += group.commands;
      all.failed += group.failed;
      all.without_end += group.without_end;
      all.latency.merge(group.latency);
    }
  }
  return joined;
}

/// What the analysis of its connection knows about a command.
void judge(FoundCommand& found, const analysis::Analyst& analyst, const CommandPackets& packets) {
  found.point = point_of_connection(analyst, found.command.connection);
  judge_recovery(found, packets.recoveries_of(found.command.connection));
  split(found.command, path_facts_of(analyst, found.command));
}

}  // namespace

CapturedCommands read_commands(FrameSource& source, CapturePoints points,
                               std::optional<upper::UpperProtocol> forced) {
  CapturedCommands read;
  read.points = std::move(points);
  Collected collected;
  std::map<std::uint32_t, CommandGroups> groups;  // by connection
  CommandPackets packets(
      [&](const StorageCommand& command) {
        collected.add(command);
        add_to_groups(groups[command.connection], command);
      },
      forced);
  analysis::Analyst analyst(packets, &packets);
  packets.bind(analyst);
  CaptureTotals totals;
  read.begin = source.begin();
  read.damage =
      analyse(source, analyst, read.points, 1, &totals, {},
              [&packets](const CapturedFrame& captured, const wire::OpcodeInfo& opcode,
                         wire::Bytes payload) { packets.keep(captured, opcode, payload); });
  packets.finish();
  read.roce = totals.roce;
  collected.drop_fastest();
  read.fastest_left_out = collected.left_out;
  for (const upper::UpperFacts* const facts : packets.follower().facts())
    read.connections.push_back(upper_connection_of(analyst, *facts));
  read.commands = std::move(collected.commands);
  for (const auto& found : read.commands) judge(*found, analyst, packets);
  read.groups = groups_without(groups, join_points(read.commands, analyst));
  sort_slowest_first(read.commands);
  return read;
}

bool may_have_commands(FrameSource& source) {
  constexpr std::uint64_t kFrames = 65536;
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const auto captured = source.next();
    if (!captured || !*captured) return false;
    const auto frame = roce::parse((*captured)->envelope);
    if (!frame || frame->info == nullptr) continue;
    if (const auto note = analysis::cm_note(*frame);
        note && upper::protocol_of_service(note->service_id) != upper::UpperProtocol::unknown)
      return true;
    const bool sends = frame->info->operation == wire::Operation::send &&
                       frame->info->transport == wire::Transport::rc &&
                       frame->info->position != wire::Position::middle;
    if (!sends) continue;
    const upper::UpperMessage message{.bytes = frame->payload_length, .data = frame->payload};
    const upper::UpperProtocol protocol = upper::recognise(message);
    if (upper::info_of(protocol).is_read) return true;
  }
  return false;
}

Result<std::optional<CapturedCommands>> find_commands(const AnalysisPlan& plan) {
  if (plan.read_once) return std::nullopt;
  auto first = plan.open();
  if (!first) return std::unexpected(first.error());
  if (!may_have_commands(*first)) return std::nullopt;
  auto source = plan.open();
  if (!source) return std::unexpected(source.error());
  auto points = CapturePoints::decide(*source, plan.points);
  if (!points) return std::unexpected(points.error());
  CapturedCommands found = read_commands(*source, std::move(*points));
  if (found.commands.empty()) return std::nullopt;
  return found;
}

}  // namespace lw::dissect
