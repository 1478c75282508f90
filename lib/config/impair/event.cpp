// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/event.h"

#include <fmt/format.h>

#include "config/impair/match.h"
#include "wire/psn.h"

namespace lw::config {
namespace {

using emulator::EventAction;
using emulator::EventConfig;
using emulator::NumberRange;
using emulator::PacketKind;
using emulator::PsnFrom;

constexpr std::uint32_t kMax24 = 0xffffff;
/// Limit of one [[event]]: bounds the memory of the event table.
constexpr std::uint64_t kMostEvents = 65'536;
constexpr std::uint32_t kMostOccurrences = 1'000'000'000;

constexpr Choice<EventAction> kActions[] = {{"drop", EventAction::drop},
                                            {"mark", EventAction::mark},
                                            {"corrupt", EventAction::corrupt},
                                            {"delay", EventAction::delay},
                                            {"duplicate", EventAction::duplicate}};

bool has_psn(PacketKind kind) noexcept {
  return kind != PacketKind::cnp && kind != PacketKind::cm && kind != PacketKind::reserved;
}

std::uint64_t count_of(const std::vector<NumberRange>& ranges, std::uint32_t mask) noexcept {
  std::uint64_t count = 0;
  for (const NumberRange& range : ranges)
    count += std::uint64_t{(range.last - range.first) & mask} + 1;
  return count;
}

void read_qp(const Table& table, EventConfig& event) {
  event.qp = table.get("qp", integer<std::uint32_t>(1, kMax24));
  event.qpn = table.get("qpn", integer<std::uint32_t>(0, kMax24));
  if (event.qp && event.qpn)
    table.refuse(
        "qpn", "expected either `qp` (order of appearance, from 1) or `qpn` (QP number), not both");
}

std::vector<NumberRange> read_psns(const Table& table, EventConfig& event) {
  const auto absolute = table.get("psn", ranges(kMax24, true));
  const auto offset = table.get("psn_offset", ranges(kMax24));
  if (absolute && offset)
    table.refuse("psn_offset", "expected either psn or psn_offset, found both");
  if (!absolute && !offset) return {{0, 0}};
  if (!has_psn(event.on))
    table.refuse(absolute ? "psn" : "psn_offset",
                 fmt::format("expected no PSN with on = \"{}\": such packets have no PSN sequence",
                             name_of(event.on)));
  event.psn_from = absolute ? PsnFrom::absolute : PsnFrom::start;
  return absolute ? *absolute : *offset;
}

void read_action(const Table& table, EventConfig& event) {
  event.action =
      table.require("action", choice(kActions), "drop, mark, corrupt, delay or duplicate")
          .value_or(EventAction::drop);
  const auto delay = table.get("delay", parse_duration);
  if (delay && event.action != EventAction::delay)
    table.refuse("delay", "expected only with action = \"delay\", found with another");
  if (!table.has("delay") && event.action == EventAction::delay)
    table.refuse("action", "expected a delay such as delay = \"1ms\", found none");
  event.delay = delay.value_or(Duration{});
}

/// Adds an event for each PSN and each occurrence.
void expand(EventConfig event, const std::vector<NumberRange>& psns,
            const std::vector<NumberRange>& occurrences, std::vector<EventConfig>& events) {
  const auto add_all_occurrences = [&] {
    for (const NumberRange& range : occurrences)
      for (event.occurrence = range.first; event.occurrence <= range.last; ++event.occurrence)
        events.push_back(event);
  };
  for (const NumberRange& range : psns) {
    event.psn = range.first;
    for (auto left = count_of({range}, kMax24); left > 0; --left) {
      add_all_occurrences();
      event.psn = (event.psn + 1) & kMax24;
    }
  }
}

std::vector<NumberRange> read_occurrences(const Table& table) {
  const auto occurrences = table.get_or("occurrence", ranges(kMostOccurrences), {{1, 1}});
  for (const NumberRange& range : occurrences)
    if (range.first == 0) table.refuse("occurrence", "expected a number from 1, found 0");
  return occurrences;
}

void read_event(const Table& table, std::size_t index, std::vector<EventConfig>& events) {
  EventConfig event;
  event.name = table.get_or("name", read_text, fmt::format("event{}", index));
  event.ways = read_direction(table);
  read_qp(table, event);
  event.on = table.get_or("on", read_packet_kind, PacketKind::request);
  const auto psns = read_psns(table, event);
  const auto occurrences = read_occurrences(table);
  read_action(table, event);
  static constexpr Choice<bool> kCounted[] = {{"from-start", false}, {"from-now", true}};
  event.from_now = table.get_or("counted", choice(kCounted), false);
  const bool on_command = table.get_or("on_command", read_boolean, false);
  if (on_command && !table.has("name"))
    table.refuse("on_command", "expected a name for the command, found none");
  table.finish();
  const auto count = count_of(psns, kMax24) * count_of(occurrences, ~0u);
  if (count > kMostEvents)
    return table.refuse(fmt::format("expected at most {} pairs of PSN and occurrence, found {}",
                                    kMostEvents, count));
  if (!on_command) expand(event, psns, occurrences, events);
}

}  // namespace

std::vector<EventConfig> read_events(const Table& root) {
  std::vector<EventConfig> events;
  std::size_t index = 0;
  for (const Table& table : root.tables("event")) read_event(table, index++, events);
  return events;
}

}  // namespace lw::config
