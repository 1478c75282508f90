// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/upper/command_text.h"

#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

using report::Align;
using upper::Part;
using upper::StorageCommand;
using upper::UpperFacts;

std::string latency_text(std::int64_t ns) { return format_duration(Duration{ns}); }

std::string data_size_text(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{}", *bytes) : "?";
}

/// "recovery 29.8 ms, path 1.9 ms": the parts, the largest first, that are at least 5 % of it.
std::string command_parts_text(const StorageCommand& command) {
  constexpr int kLeastShare = 20;
  std::array<Part, upper::kParts> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Part>(i);
  std::ranges::stable_sort(order, std::greater{}, [&](Part part) { return command.part(part); });
  std::string text;
  for (const Part part : order) {
    const Duration length = command.part(part);
    if (length <= Duration{} || length < command.latency() / kLeastShare) break;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(part), format_duration(length));
  }
  return text;
}

std::string command_why_text(const FoundCommand& found) {
  const StorageCommand& command = found.command;
  std::string text = command_parts_text(command);
  if (command.recovery_frame != 0 && !found.recovery_cause.empty())
    text += fmt::format(" ({}, frame {})", found.recovery_cause, command.recovery_frame);
  if (command.late_ack > Duration{})
    text += fmt::format("; its request acknowledged {} later", format_duration(command.late_ack));
  if (command.failed && command.status)
    text += fmt::format("; {}", status_name(command.protocol, command.kind, *command.status));
  return text;
}

std::string slowest_text(const CapturedCommands& all, std::size_t most, TimeStyle style) {
  report::TextTable table({{"time"},
                           {"frame", Align::right},
                           {"connection", Align::right},
                           {"operation"},
                           {"bytes", Align::right},
                           {"depth", Align::right},
                           {"latency", Align::right},
                           {"of which"}});
  RowTimes times(style, all.begin);
  for (const auto& row : all.commands | std::views::take(most)) {
    const FoundCommand& found = *row;
    const StorageCommand& command = found.command;
    if (!command.ended || command.waits_for_event) break;
    table.add_row({times.text(command.begin), fmt::format("{}", command.begin_frame),
                   fmt::format("{}", command.connection),
                   fmt::format("{} {}", name_of(command.protocol), command.operation),
                   data_size_text(command.bytes), fmt::format("{}", command.depth),
                   format_duration(command.latency()), command_why_text(found)});
  }
  return table.empty() ? std::string() : "\nThe slowest commands:\n" + table.to_string();
}

/// The commands without completion, those first that were open for longest; empty: there are none.
std::string unfinished_text(const CapturedCommands& all, std::size_t most, TimeStyle style) {
  report::TextTable table({{"time"},
                           {"frame", Align::right},
                           {"connection", Align::right},
                           {"operation"},
                           {"bytes", Align::right},
                           {"open for", Align::right},
                           {"packets"}});
  RowTimes times(style, all.begin);
  const auto is_unfinished = [](const auto& found) {
    return !found->command.ended && !found->command.waits_for_event;
  };
  for (const auto& found :
       all.commands | std::views::filter(is_unfinished) | std::views::take(most)) {
    const StorageCommand& command = found->command;
    table.add_row({times.text(command.begin), fmt::format("{}", command.begin_frame),
                   fmt::format("{}", command.connection),
                   fmt::format("{} {}", name_of(command.protocol), command.operation),
                   data_size_text(command.bytes), format_duration(command.latency()),
                   command.recovery_frame == 0
                       ? ""
                       : fmt::format("came again with frame {} ({})", command.recovery_frame,
                                     found->recovery_cause)});
  }
  return table.empty() ? std::string() : "\nCommands without completion:\n" + table.to_string();
}

/// ", 3 failed (2 LBA Out of Range, 1 Internal Error)"
std::string failures_text(const UpperFacts& facts) {
  if (facts.errors == 0) return {};
  std::string names;
  for (const upper::FailedCount& count : facts.failed)
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", count.commands,
                         status_name(facts.protocol, count.kind, count.status));
  return fmt::format(", {} failed{}", facts.errors, names.empty() ? "" : " (" + names + ")");
}

std::string upper_counts_text(const UpperFacts& facts) {
  const struct {
    std::uint64_t count;
    std::string_view words;
  } kCounts[] = {{facts.open, "without completion"},
                 {facts.beginless, "completions without command"},
                 {facts.replaced, "with an identifier that was still in use"},
                 {facts.aborts, "aborts"},
                 {facts.exhausted, "begun with all credits or the whole queue in use"},
                 {facts.credit_waits, "SENDs waited for credits"},
                 {facts.keep_alives_missed, "keep-alives too late or not answered in time"},
                 {facts.encrypted, "encrypted messages"},
                 {facts.unreadable, "SENDs that are no message of the protocol or are cut"}};
  std::string text;
  for (const auto& [count, words] : kCounts)
    if (count > 0) text += fmt::format(", {} {}", count, words);
  return text + failures_text(facts);
}

std::string upper_connection_text(const CapturedCommands& all, const FoundConnection& found) {
  const UpperFacts& facts = found.facts;
  const upper::ProtocolInfo& info = info_of(facts.protocol);
  std::string text =
      fmt::format("connection {}  {} -> {}  ", facts.connection, found.ends.from, found.ends.to);
  if (all.points.points().size() > 1) text += fmt::format("at {}: ", all.points.name(found.point));
  if (facts.protocol == upper::UpperProtocol::unknown)
    return text + fmt::format("{}: unknown or encrypted payload\n", counted(facts.sends, "SEND"));
  text += fmt::format("{} (by {})", info.full_name, name_of(facts.recognised_by));
  if (!facts.detail.empty()) text += fmt::format(", {}", facts.detail);
  if (!info.is_read) return text + ": its commands are not read\n";
  text += fmt::format(": {}, {} with completion, at most {} open",
                      counted(facts.commands, "command"), facts.matched, facts.most_outstanding);
  if (facts.limit) text += fmt::format(" of {}", *facts.limit);
  return text + upper_counts_text(facts) + "\n";
}

/// The slowest commands of one operation, and what they share.
struct Slowest {
  std::vector<const FoundCommand*> commands;
  std::uint64_t of = 0;  // commands of the operation
};

/// The commands of the slowest one's operation that take more than three times its median.
Slowest slowest_of(const CapturedCommands& all) {
  constexpr int kSlow = 3;
  Slowest slowest;
  if (all.commands.empty()) return slowest;
  const StorageCommand& first = all.commands.front()->command;
  if (!first.ended || first.waits_for_event) return slowest;
  Histogram latency;
  for (const auto& [key, group] : all.groups)
    if (std::get<0>(key) == first.protocol && std::get<1>(key) == first.operation) {
      latency.merge(group.latency);
      slowest.of += group.commands;
    }
  const Duration least{latency.quantile(0.5) * kSlow};
  for (const auto& found : all.commands) {
    const StorageCommand& command = found->command;
    if (!command.ended || command.waits_for_event || command.host_time() <= least) break;
    if (command.protocol == first.protocol && command.operation == first.operation)
      slowest.commands.push_back(found.get());
  }
  return slowest;
}

}  // namespace

CommandGroups grouped(const CommandGroups& groups, bool by_operation, bool by_size) {
  CommandGroups joined;
  for (const auto& [key, group] : groups) {
    const auto& [protocol, operation, bytes] = key;
    CommandGroup& to = joined[{protocol, by_operation ? operation : std::string_view{},
                               by_size ? bytes : std::nullopt}];
    to.commands += group.commands;
    to.failed += group.failed;
    to.without_end += group.without_end;
    to.latency.merge(group.latency);
  }
  return joined;
}

std::string groups_text(const CommandGroups& groups) {
  report::TextTable table({{"operation"},
                           {"bytes", Align::right},
                           {"commands", Align::right},
                           {"failed", Align::right},
                           {"no completion", Align::right},
                           {"min", Align::right},
                           {"p50", Align::right},
                           {"p90", Align::right},
                           {"p99", Align::right},
                           {"max", Align::right}});
  for (const auto& [key, group] : groups) {
    const auto& [protocol, operation, bytes] = key;
    const auto time = [&](std::int64_t ns) {
      return group.latency.count() == 0 ? std::string() : latency_text(ns);
    };
    table.add_row(
        {fmt::format("{}{}{}", name_of(protocol), operation.empty() ? "" : " ", operation),
         bytes ? fmt::format("{}", *bytes) : "", fmt::format("{}", group.commands),
         fmt::format("{}", group.failed), fmt::format("{}", group.without_end),
         time(group.latency.minimum()), time(group.latency.quantile(0.5)),
         time(group.latency.quantile(0.9)), time(group.latency.quantile(0.99)),
         time(group.latency.maximum())});
  }
  return table.empty() ? "no command\n" : table.to_string();
}

std::string facts_text(const CapturedCommands& all) {
  std::string text;
  for (const FoundConnection& found : all.connections) text += upper_connection_text(all, found);
  return text.empty() ? "no connection with SENDs\n" : text;
}

std::string commands_text(const CapturedCommands& all, std::size_t slowest, TimeStyle style) {
  std::string text = facts_text(all);
  if (all.groups.empty()) return text;
  text += "\n" + groups_text(all.groups) + slowest_text(all, slowest, style);
  text += unfinished_text(all, slowest, style);
  if (const std::string sentence = slowest_sentence(all); !sentence.empty())
    text += "\n" + sentence + "\n";
  if (all.fastest_left_out > 0)
    text += fmt::format("{} are beyond what is kept: the fastest are not listed\n",
                        counted(all.fastest_left_out, "command"));
  return text;
}

std::string slowest_sentence(const CapturedCommands& all) {
  const Slowest slowest = slowest_of(all);
  if (slowest.commands.empty()) return {};
  const FoundCommand& first = *slowest.commands.front();
  const StorageCommand& command = first.command;
  const std::size_t count = slowest.commands.size();
  std::string text = fmt::format(
      "The slowest {}of {} {} {} commands took up to {}, of which {}",
      count == 1 ? "" : fmt::format("{} ", count), slowest.of, name_of(command.protocol),
      command.operation, format_duration(command.host_time()),
      command.late_ack > command.latency()
          ? fmt::format("{} until its request was acknowledged", format_duration(command.late_ack))
          : command_parts_text(command));
  if (command.recovery_frame != 0 && !first.recovery_cause.empty())
    text += fmt::format("; packets came again ({}) with frame {}", first.recovery_cause,
                        command.recovery_frame);
  return text + ".";
}

}  // namespace lw::dissect
