// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/upper/command_figures.h"

#include <map>
#include <string>

namespace lw::dissect {
namespace {

using upper::Part;
using upper::StorageCommand;
using upper::UpperFacts;

using CommandFigure = FigureOf<CommandRow>;

template <auto member>
constexpr auto of_command = [](const CommandRow& row) { return row.found.command.*member; };

/// The time of a part; nothing without latency.
template <Part part>
constexpr auto part_of = [](const CommandRow& row) -> std::optional<std::int64_t> {
  if (!row.found.command.ended) return std::nullopt;
  return row.found.command.part(part).count();
};

std::optional<std::int64_t> command_latency(const CommandRow& row) {
  if (!row.found.command.ended) return std::nullopt;
  return row.found.command.latency().count();
}

std::optional<std::int64_t> command_open(const CommandRow& row) {
  if (row.found.command.ended) return std::nullopt;
  return row.found.command.latency().count();
}

std::int64_t command_begin(const CommandRow& row) {
  const StorageCommand& command = row.found.command;
  return stamp_difference(command.begin, row.all.begin.value_or(command.begin)).count();
}

std::optional<std::uint64_t> frame_if_any(std::uint64_t frame) {
  return frame == 0 ? std::nullopt : std::optional(frame);
}

std::optional<std::string> command_status(const CommandRow& row) {
  const StorageCommand& command = row.found.command;
  if (!command.status) return std::nullopt;
  if (*command.status == 0) return "success";
  return status_name(command.protocol, command.kind, *command.status);
}

std::optional<std::string> command_far_point(const CommandRow& row) {
  if (!row.found.far_point) return std::nullopt;
  return row.all.points.name(*row.found.far_point);
}

std::optional<std::string_view> command_largest(const CommandRow& row) {
  if (!row.found.command.ended) return std::nullopt;
  return name_of(row.found.command.largest());
}

constexpr Figure kCommandRows[] = {
    CommandFigure::of<of_command<&StorageCommand::connection>>("connection",
                                                               "Number of the connection, from 1."),
    CommandFigure::of<[](const CommandRow& row) { return row.all.points.name(row.found.point); }>(
        "point", "Capture point; of several, the nearest to the host."),
    CommandFigure::of<command_far_point>(
        "far_point",
        "Capture point nearest to the target, which divides path and target; "
        "null without a second point.")
        .or_null(),
    CommandFigure::of<of_command<&StorageCommand::direction>>("direction",
                                                              "Direction of its request: 0 or 1."),
    CommandFigure::of<of_command<&StorageCommand::protocol>>("protocol", "nvme, nfs or smb."),
    CommandFigure::of<of_command<&StorageCommand::operation>>("operation", "Operation."),
    CommandFigure::of<of_command<&StorageCommand::id>>(
        "id", "CID of NVMe, XID of RPC, message ID of SMB2; + 2^32: a call of the server."),
    CommandFigure::of<of_command<&StorageCommand::queue>>("queue",
                                                          "Queue ID of NVMe; null if unknown.")
        .or_null(),
    CommandFigure::of<of_command<&StorageCommand::sq_head>>("sq_head",
                                                            "SQHD of NVMe's completion; else null.")
        .or_null(),
    CommandFigure::of<of_command<&StorageCommand::bytes>>(
        "bytes", "Bytes of data; null if the capture does not show them.", Unit::bytes)
        .or_null(),
    CommandFigure::of<of_command<&StorageCommand::depth>>(
        "depth", "Commands of its connection open when it began, itself among them."),
    CommandFigure::of<of_command<&StorageCommand::full_at_begin>>(
        "full", "True if all credits, or the whole queue, were in use when it began."),
    CommandFigure::of<command_begin>(
        "begin_ns", "Time of its first packet, since the capture's first frame.", Unit::ns),
    CommandFigure::of<of_command<&StorageCommand::begin_frame>>("begin_frame",
                                                                "Number of its first frame."),
    CommandFigure::of<[](const CommandRow& row) {
      return frame_if_any(row.found.command.end_frame);
    }>("end_frame", "Number of the frame that completed it; null if not captured.")
        .or_null(),
    CommandFigure::of<command_latency>("latency_ns",
                                       "Time from its first packet to its completion.", Unit::ns)
        .or_null(),
    CommandFigure::of<command_open>(
        "open_ns",
        "Of a command without completion: time until its identifier was used again, or to the "
        "capture's last command; else null.",
        Unit::ns)
        .or_null(),
    CommandFigure::of<[](const CommandRow& row) {
      return row.found.command.late_ack.count();
    }>("late_ack_ns",
       "Time after its completion until its request was acknowledged: hosts of NVMe wait for both.",
       Unit::ns),
    CommandFigure::of<part_of<Part::path>>(
        "path_ns", "Part of it: packets on the way, by the least round trip.", Unit::ns)
        .or_null(),
    CommandFigure::of<part_of<Part::target>>(
        "target_ns", "Part: the target, between a request that has arrived and its answer.",
        Unit::ns)
        .or_null(),
    CommandFigure::of<part_of<Part::path_or_target>>(
        "path_or_target_ns", "Part: path and target, where no round trip was seen.", Unit::ns)
        .or_null(),
    CommandFigure::of<part_of<Part::transfer>>("transfer_ns", "Part: data on the way.", Unit::ns)
        .or_null(),
    CommandFigure::of<part_of<Part::recovery>>(
        "recovery_ns", "Part: lost, late or refused packets that came again.", Unit::ns)
        .or_null(),
    CommandFigure::of<part_of<Part::credit_wait>>(
        "credit_wait_ns", "Part: a sender that waited for credits.", Unit::ns)
        .or_null(),
    CommandFigure::of<part_of<Part::undecided>>(
        "undecided_ns",
        "Part: the target, or packets that were lost before the point: cannot tell.", Unit::ns)
        .or_null(),
    CommandFigure::of<command_largest>("largest_part",
                                       "Name of the largest part; null without a completion.")
        .or_null(),
    CommandFigure::of<[](const CommandRow& row) {
      return frame_if_any(row.found.command.recovery_frame);
    }>("recovery_frame", "First frame of it that came again; null: none did.")
        .or_null(),
    CommandFigure::of<[](const CommandRow& row) {
      return std::string_view(row.found.recovery_cause);
    }>("recovery_cause", "Why, as in anomalies; empty: none came again."),
    CommandFigure::of<command_status>(
        "status", "Status in the standard's words; null if it was not captured.")
        .or_null(),
    CommandFigure::of<of_command<&StorageCommand::failed>>("failed",
                                                           "True if the status is an error."),
    CommandFigure::of<of_command<&StorageCommand::waits_for_event>>(
        "waits", "True if it ends when something happens: its latency says nothing.")};

using CommandFactsFigure = FigureOf<CommandFactsRow>;

template <auto member>
constexpr auto of_facts = [](const CommandFactsRow& row) { return row.found.facts.*member; };

std::map<std::string, std::uint64_t> failed_by_status(const CommandFactsRow& row) {
  const UpperFacts& facts = row.found.facts;
  std::map<std::string, std::uint64_t> counts;
  for (const upper::FailedCount& count : facts.failed)
    counts[status_name(facts.protocol, count.kind, count.status)] += count.commands;
  return counts;
}

constexpr Figure kCommandFactsRows[] = {
    CommandFactsFigure::of<of_facts<&UpperFacts::connection>>("connection",
                                                              "Number of the connection, from 1."),
    CommandFactsFigure::of<[](const CommandFactsRow& row) {
      return row.all.points.name(row.found.point);
    }>("point", "Capture point."),
    CommandFactsFigure::of<[](const CommandFactsRow& row) {
      return std::string_view(row.found.ends.from);
    }>("host", "Address and QP of the end that sends the commands."),
    CommandFactsFigure::of<[](const CommandFactsRow& row) {
      return std::string_view(row.found.ends.to);
    }>("target", "Address and QP of the other end."),
    CommandFactsFigure::of<of_facts<&UpperFacts::protocol>>("protocol",
                                                            "Name of the protocol, or unknown."),
    CommandFactsFigure::of<of_facts<&UpperFacts::recognised_by>>(
        "recognised_by",
        "What showed the protocol: content, service (of its connection manager), "
        "option, nothing."),
    CommandFactsFigure::of<of_facts<&UpperFacts::detail>>(
        "detail", "Kind of queue, or encrypted; may be empty."),
    CommandFactsFigure::of<of_facts<&UpperFacts::sends>>("sends", "SENDs."),
    CommandFactsFigure::of<of_facts<&UpperFacts::commands>>("commands",
                                                            "Commands whose begin was captured."),
    CommandFactsFigure::of<of_facts<&UpperFacts::matched>>("matched",
                                                           "Of these, with their completion."),
    CommandFactsFigure::of<of_facts<&UpperFacts::open>>("without_end",
                                                        "Of these, without completion."),
    CommandFactsFigure::of<of_facts<&UpperFacts::beginless>>(
        "without_begin", "Completions whose command was not captured."),
    CommandFactsFigure::of<of_facts<&UpperFacts::replaced>>(
        "replaced", "Commands whose identifier was used again before their completion."),
    CommandFactsFigure::of<of_facts<&UpperFacts::most_outstanding>>("most_outstanding",
                                                                    "Most commands open at once."),
    CommandFactsFigure::of<of_facts<&UpperFacts::limit>>(
        "limit", "Credits or size of the queue; null if not captured.")
        .or_null(),
    CommandFactsFigure::of<of_facts<&UpperFacts::exhausted>>(
        "exhausted", "Commands that began with all credits, or the whole queue, in use."),
    CommandFactsFigure::of<of_facts<&UpperFacts::exhausted_time>>(
        "exhausted_ns",
        "Time with all credits, or the whole queue, in use: the host can begin none.", Unit::ns),
    CommandFactsFigure::of<of_facts<&UpperFacts::credit_waits>>("credit_waits",
                                                                "SENDs that waited for credits."),
    CommandFactsFigure::of<of_facts<&UpperFacts::keep_alive>>(
        "keep_alive_ns", "Timeout of keep-alives; null if not captured.", Unit::ns)
        .or_null(),
    CommandFactsFigure::of<of_facts<&UpperFacts::keep_alives>>("keep_alives",
                                                               "Keep-alive commands, or echoes."),
    CommandFactsFigure::of<of_facts<&UpperFacts::keep_alives_missed>>(
        "keep_alives_missed", "Keep-alives that came, or were answered, after the timeout."),
    CommandFactsFigure::of<of_facts<&UpperFacts::aborts>>("aborts", "Aborts, or cancels."),
    CommandFactsFigure::of<of_facts<&UpperFacts::errors>>("errors", "Commands that failed."),
    CommandFactsFigure::of<&failed_by_status>("errors_by_status",
                                              "Of these, by the standard name of the status."),
    CommandFactsFigure::of<of_facts<&UpperFacts::encrypted>>("encrypted", "Encrypted messages."),
    CommandFactsFigure::of<of_facts<&UpperFacts::unreadable>>(
        "unreadable", "SENDs that are no message of the protocol, or are cut.")};

using CommandGroupFigure = FigureOf<CommandGroupRow>;

template <std::int64_t percent>
std::optional<std::int64_t> command_percentile(const CommandGroupRow& row) {
  const Histogram& latency = row.entry.second.latency;
  if (latency.count() == 0) return std::nullopt;
  if (percent == 0) return latency.minimum();
  if (percent == 100) return latency.maximum();
  return latency.quantile(static_cast<double>(percent) / 100);
}

constexpr Figure kCommandGroupRows[] = {
    CommandGroupFigure::of<[](const CommandGroupRow& row) { return std::get<0>(row.entry.first); }>(
        "protocol", "nvme, nfs or smb."),
    CommandGroupFigure::of<[](const CommandGroupRow& row) { return std::get<1>(row.entry.first); }>(
        "operation", "Operation; empty: all."),
    CommandGroupFigure::of<[](const CommandGroupRow& row) { return std::get<2>(row.entry.first); }>(
        "bytes", "Bytes of data; null: all, or unknown.", Unit::bytes)
        .or_null(),
    CommandGroupFigure::of<[](const CommandGroupRow& row) { return row.entry.second.commands; }>(
        "commands", "Commands."),
    CommandGroupFigure::of<[](const CommandGroupRow& row) { return row.entry.second.failed; }>(
        "failed", "Commands that failed."),
    CommandGroupFigure::of<[](const CommandGroupRow& row) { return row.entry.second.without_end; }>(
        "without_end", "Commands whose completion was not captured."),
    CommandGroupFigure::of<&command_percentile<0>>("latency_min_ns", "Shortest latency.", Unit::ns)
        .or_null(),
    CommandGroupFigure::of<&command_percentile<50>>("latency_p50_ns", "Median.", Unit::ns)
        .or_null(),
    CommandGroupFigure::of<&command_percentile<90>>("latency_p90_ns", "90th percentile.", Unit::ns)
        .or_null(),
    CommandGroupFigure::of<&command_percentile<99>>("latency_p99_ns", "99th percentile.", Unit::ns)
        .or_null(),
    CommandGroupFigure::of<&command_percentile<100>>("latency_max_ns", "Longest.", Unit::ns)
        .or_null()};

}  // namespace

const FigureTable& CommandRow::figures() {
  static constexpr FigureTable kTable{"A command of an upper layer; a line each.", kCommandRows};
  return kTable;
}

const FigureTable& CommandFactsRow::figures() {
  static constexpr FigureTable kTable{"The upper layer of a connection; a line each.",
                                      kCommandFactsRows};
  return kTable;
}

const FigureTable& CommandGroupRow::figures() {
  static constexpr FigureTable kTable{"Commands of one operation or size; a line each.",
                                      kCommandGroupRows};
  return kTable;
}

}  // namespace lw::dissect
