// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace lw::analysis {

/// The identifications of a sender's IP packets. Some senders count them up, as Linux does: then
/// they show in which order packets were sent, and distinguish a packet from its copy.
class IpNumbers {
 public:
  /// Takes the numbers as counted up, whatever those that are added show.
  void expect_order() noexcept { expected_ = true; }
  /// Adds a packet with the next PSN.
  void add_new(std::uint16_t id) noexcept {
    const bool is_known = last_.has_value();
    if (last_) {
      varied_ = varied_ || *last_ != id;
      const int step = difference(id, *last_);
      if (std::uint16_t& steps = step == 1 ? ones_ : others_; steps < kMostSteps) ++steps;
      rises_ = step > 0 && step < kLargestStep ? rises_ + 1 : 0;
    }
    last_ = id;
    if (rises_ == 0 || !is_known) newest_ = id;  // a beginning
    add(id);
  }
  /// Adds any packet.
  void add(std::uint16_t id) noexcept {
    if (difference(id, newest_) <= 0) return;
    before_ = newest_;
    newest_ = id;
  }
  /// True if they differ, so a copy has the number of its original.
  [[nodiscard]] bool vary() const noexcept { return varied_ || expected_; }
  /// True if they are counted up: new packets in a row had rising numbers.
  [[nodiscard]] bool ordered() const noexcept { return expected_ || rises_ >= kEnough; }
  /// True if nearly each new packet has the number after that of the one before: its sender counts
  /// for no other flow meanwhile.
  [[nodiscard]] bool dense() const noexcept {
    constexpr std::uint16_t kSteps = 16, kShare = 8;
    return ones_ >= kSteps && ones_ >= kShare * others_;
  }
  /// True if a packet was sent before another one that was added. False if its number is far from
  /// the newest: the numbers may have gone round.
  [[nodiscard]] bool is_late(std::uint16_t id) const noexcept {
    const int ahead = difference(id, newest_);
    return ordered() && ahead < 0 && ahead > -kLargestStep;
  }
  /// True if no packet was sent between the last new one and this one.
  [[nodiscard]] bool follows_last(std::uint16_t id) const noexcept {
    return last_ && difference(id, *last_) == 1;
  }
  /// Number of packets that the sender may have sent between the newest one and this one; or, if
  /// this one is the newest, between it and the newest one before.
  [[nodiscard]] std::uint64_t skipped_before(std::uint16_t id) const noexcept {
    const std::uint16_t last = id == newest_ ? before_ : newest_;
    return static_cast<std::uint64_t>(std::max(0, difference(id, last) - 1));
  }
  /// True if `one` was sent before `other`. Requires ordered().
  [[nodiscard]] static bool is_before(std::uint16_t one, std::uint16_t other) noexcept {
    return difference(one, other) < 0;
  }

 private:
  static constexpr int kLargestStep = 4096;  // packets of other flows may come in between
  static constexpr std::uint32_t kEnough = 8;
  static constexpr std::uint16_t kMostSteps = 4096;

  static int difference(std::uint16_t one, std::uint16_t other) noexcept {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(one - other));
  }

  std::optional<std::uint16_t> last_;
  std::uint16_t newest_ = 0, before_ = 0;
  bool varied_ = false, expected_ = false;
  std::uint32_t rises_ = 0;
  std::uint16_t ones_ = 0, others_ = 0;  // steps between new packets
};

}  // namespace lw::analysis
