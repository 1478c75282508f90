// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "emulator/rule_config.h"

namespace lw::test {

/// A rule's queue of one class, alone.
class Fifo {
 public:
  explicit Fifo(const emulator::QueueConfig& config) : queue_(line_of(config)) {}

  /// Returns when the frame leaves, if nothing changes; nothing if it finds no room.
  std::optional<Instant> enqueue(std::uint32_t bytes, Instant now) {
    let_depart(now);
    if (!queue_.enqueue(0, bytes, 0, now)) return std::nullopt;
    return queue_.last_departure();
  }
  [[nodiscard]] std::uint64_t occupancy(Instant now) {
    let_depart(now);
    return queue_.bytes();
  }
  void pause(Instant now, Instant until) {
    let_depart(now);
    queue_.pause(0, now, until);
  }
  void take_over(Fifo& old, Instant now) {
    old.let_depart(now);
    queue_.take_over(old.queue_, now);
  }
  /// When the frames inside leave, if nothing changes.
  [[nodiscard]] std::vector<Instant> departures() const {
    std::vector<Instant> all;
    queue_.foresee([&](const auto& sent) { all.push_back(sent.times.departs); });
    return all;
  }

 private:
  static emulator::LineQueueConfig line_of(const emulator::QueueConfig& config) {
    emulator::RuleConfig rule;
    rule.queue = config;
    return emulator::Queue::use_of(rule).queue;
  }
  void let_depart(Instant now) {
    while (queue_.depart(now, [](const auto&) {})) continue;
  }

  emulator::LineQueue<int> queue_;
};

}  // namespace lw::test
