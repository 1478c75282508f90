// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/events/event.h"

namespace lw::emulator {

/// Attributes of a packet of a known QP that events compare.
struct PacketPlace {
  PacketKind kind{};
  std::uint32_t psn = 0;     // as in the BTH
  std::uint32_t offset = 0;  // from the first PSN of its stream, modulo 2^24
};

/// The packets that events wait for. A target is a kind of packet at a PSN, to the QPs of a group.
/// It counts the packets that match it, including retransmissions, and knows which occurrences are
/// meant. Targets are found by hash, so the cost doesn't depend on their number.
class EventTargets {
 public:
  /// QPs that share targets: one QP, all QPs of one QPN, or all QPs.
  using Group = std::uint32_t;
  static constexpr Group kNobody = 0;

  Group add_group();
  /// Adds an event. Call it before the first meet(); seal() ends the additions.
  void add(Group group, const EventConfig& event);
  void seal();

  /// Takes over from `old`, whose events were added here first and in the same order: its counts,
  /// and which events have happened. Events that count from now on start at these counts.
  void inherit(const EventTargets& old) noexcept;

  /// Counts the packet at all matching targets of the group, and adds the actions of events that
  /// are due.
  void meet(Group group, const PacketPlace& place, EventActions& aimed) noexcept;

  /// Number of events that haven't happened yet, of a group or of all groups.
  [[nodiscard]] std::uint32_t pending(Group group) const noexcept { return pending_of_[group]; }
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }

  /// Returns the results, in the order in which the events' names were added.
  [[nodiscard]] std::vector<EventOutcome> outcomes() const;

 private:
  struct Event {
    std::uint64_t key = 0, occurrence = 0;
    EventAction action{};
    std::uint32_t name = 0;   // index in names_
    std::uint32_t order = 0;  // order in which targets were added, from 0
    Group group = kNobody;
    Duration delay{};
    bool happened = false, from_now = false;
  };
  struct Target {
    std::uint64_t key = 0, count = 0;
    // range in events_; empty if nothing waits, or for an empty slot
    std::uint32_t next = 0, end = 0;
  };

  void meet(std::uint64_t key, Group group, EventActions& aimed) noexcept;
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const noexcept;
  [[nodiscard]] Target* find(std::uint64_t key) noexcept { return &targets_[place_of(key)]; }
  void sort() noexcept;
  void find_pending() noexcept;
  void happen(Event& event, Group group, EventActions& aimed) noexcept;

  std::vector<std::string> names_;
  std::vector<Event> events_;          // sorted by target, then by occurrence
  std::vector<std::uint32_t> places_;  // index in events_ by `order`
  std::vector<Target> targets_;        // open addressing, at most half full
  int shift_ = 0;
  std::vector<std::uint32_t> pending_of_ = {0};
  std::vector<std::uint8_t> forms_of_ = {0};  // bit set of the PsnFrom of each group's events
  std::size_t pending_ = 0;
};

}  // namespace lw::emulator
