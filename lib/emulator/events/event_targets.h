// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/events/event.h"

namespace lw::emulator {

/// What an event may look at in a packet of a known QP.
struct PacketPlace {
  PacketKind kind{};
  std::uint32_t psn = 0;     // as it stands in the BTH
  std::uint32_t offset = 0;  // from the first PSN of its stream, modulo 2^24
};

/// The packets that events wait for. A target is a kind of packet at a PSN, to the QPs of a group;
/// it counts the packets that it meets, retransmissions too, and knows which of them are meant.
/// A packet meets its targets by hash, however many there are.
class EventTargets {
 public:
  /// Those who share targets: a QP, or all of one QPN, or all there are.
  using Group = std::uint32_t;
  static constexpr Group kNobody = 0;

  Group add_group();
  /// Before the first meet(); seal() ends it.
  void add(Group group, const EventConfig& event);
  void seal();

  /// Takes over from `old`, whose events were added in the same order before others here: what it
  /// has counted, and what has happened. Events that count from now on begin behind that.
  void inherit(const EventTargets& old) noexcept;

  /// Counts the packet at all targets of the group that it is, and adds what is asked for.
  void meet(Group group, const PacketPlace& place, EventActions& aimed) noexcept;

  /// Events that haven't happened yet: of a group, and of all together.
  [[nodiscard]] std::uint32_t pending(Group group) const noexcept { return pending_of_[group]; }
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }

  /// In the order in which their names came.
  [[nodiscard]] std::vector<EventOutcome> outcomes() const;

 private:
  struct Event {
    std::uint64_t key = 0, occurrence = 0;
    EventAction action{};
    std::uint32_t name = 0;   // of names_
    std::uint32_t order = 0;  // order in which targets were added, from 0
    Group group = kNobody;
    Duration delay{};
    bool happened = false, from_now = false;
  };
  struct Target {
    std::uint64_t key = 0, count = 0;
    std::uint32_t next = 0, end = 0;  // of events_; equal: nothing waits, or an empty slot
  };

  void meet(std::uint64_t key, Group group, EventActions& aimed) noexcept;
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const noexcept;
  [[nodiscard]] Target* find(std::uint64_t key) noexcept { return &targets_[place_of(key)]; }
  void sort() noexcept;
  void find_pending() noexcept;
  void happen(Event& event, Group group, EventActions& aimed) noexcept;

  std::vector<std::string> names_;
  std::vector<Event> events_;          // sorted by target, then by occurrence
  std::vector<std::uint32_t> places_;  // in events_, by their order
  std::vector<Target> targets_;        // open addressing, at most half full
  int shift_ = 0;
  std::vector<std::uint32_t> pending_of_ = {0};
  std::vector<std::uint8_t> forms_of_ = {0};  // which PsnFrom a group's events have, a bit each
  std::size_t pending_ = 0;
};

}  // namespace lw::emulator
