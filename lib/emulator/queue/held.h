// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/time.h"
#include "emulator/queue/ring.h"

namespace lw::emulator {

/// How a rule holds frames.
struct HoldConfig {
  std::size_t frames = 0;  // that overtake a frame, or are a group; 0: it holds none
  Duration at_most{};      // that a frame is held
  bool in_groups = false;  // frames that are held leave together

  friend bool operator==(const HoldConfig&, const HoldConfig&) = default;
};

/// The frames of one rule that are held back: until `frames` later frames have been sent on, or, in
/// groups, until the group has `frames` frames. They leave in the order in which they came. One
/// thread; nothing is allocated after construction.
template <class Entry>
class Held {
 public:
  explicit Held(const HoldConfig& config) : config_(config), waiting_(config.frames + 1) {}

  [[nodiscard]] const HoldConfig& config() const noexcept { return config_; }
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }
  [[nodiscard]] const Entry& operator[](std::size_t i) const noexcept { return waiting_[i].entry; }

  /// Holds a frame back. Call it directly after gone_on() for the same frame.
  void hold(const Entry& entry) noexcept {
    if (waiting_.empty()) deadline_ = entry.due + config_.at_most;
    waiting_.push({entry, passed_ + config_.frames});
  }
  /// Counts a frame of the rule that is sent on, or is about to be held.
  void gone_on() noexcept { ++passed_; }
  /// Returns true if enough frames have overtaken the first. overtaken(), deadline(), front() and
  /// pop() require !empty().
  [[nodiscard]] bool overtaken() const noexcept { return waiting_.front().until <= passed_; }
  /// Returns true if a group is complete.
  [[nodiscard]] bool full() const noexcept { return waiting_.size() >= config_.frames; }
  /// Time at which the first frame leaves even if too few frames have overtaken it, or at which a
  /// group leaves even if it is not complete.
  [[nodiscard]] Instant deadline() const noexcept {
    return config_.in_groups ? deadline_ : waiting_.front().entry.due + config_.at_most;
  }
  [[nodiscard]] const Entry& last() const noexcept { return waiting_.back().entry; }
  [[nodiscard]] const Entry& front() const noexcept { return waiting_.front().entry; }
  void pop() noexcept { waiting_.pop(); }

 private:
  struct Waiting {
    Entry entry;
    std::uint64_t until = 0;  // value of passed_ at which the frame may leave
  };

  HoldConfig config_;
  Ring<Waiting> waiting_;
  Instant deadline_{};  // of the group
  std::uint64_t passed_ = 0;
};

}  // namespace lw::emulator
