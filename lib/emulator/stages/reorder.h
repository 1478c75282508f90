// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/chance.h"
#include "core/time.h"

namespace lw::emulator {

/// A share of the frames is held back: by a time, or until `frames` later ones of its rule have
/// gone on, right behind the last of which it then leaves.
struct ReorderConfig {
  double fraction = 0;
  std::uint32_t frames = 0;  // 1..kMostOvertaking; 0: by `by`
  Duration by{};
  /// How long past its own release a frame waits at most for others to overtake it.
  Duration at_most = std::chrono::milliseconds(10);
  /// A frame that overtakes another is not held itself: with frames = 1, neighbours swap.
  bool swap = false;

  static constexpr std::uint32_t kMostOvertaking = 4096;
  friend bool operator==(const ReorderConfig&, const ReorderConfig&) = default;
};

/// Says which frames are held back.
class Reorderer {
 public:
  Reorderer(const ReorderConfig& config, Chance chance) noexcept
      : config_(config), fraction_(config.fraction), chance_(chance) {}

  [[nodiscard]] const ReorderConfig& config() const noexcept { return config_; }

  [[nodiscard]] bool holds(std::uint64_t number, std::uint32_t copy) noexcept {
    if (overtaking_ > 0) return --overtaking_, false;
    if (!fraction_.hit(chance_.bits(number, copy))) return false;
    if (config_.swap) overtaking_ = config_.frames;
    return true;
  }

 private:
  ReorderConfig config_;
  Threshold fraction_;
  Chance chance_;
  std::uint32_t overtaking_ = 0;  // so many frames go on before another may be held
};

}  // namespace lw::emulator
