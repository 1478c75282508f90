// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "emulator/stages/all.h"

namespace lw::emulator {

/// What a rule's stages did, for reports. The data path's thread writes it.
struct RuleStats : Stages::Stats {
  std::array<std::uint64_t, kStages> acted{};  // frames (and copies) that each stage acted on

  [[nodiscard]] std::uint64_t by(Stage stage) const noexcept {
    return acted[static_cast<std::size_t>(stage)];
  }
  void add(const RuleStats& other) noexcept {
    for (std::size_t i = 0; i < kStages; ++i) acted[i] += other.acted[i];
    Stages::for_each([&]<class S>() { static_cast<typename S::Stats&>(*this).add(other); });
  }
  void count(StageSet stages) noexcept {
    for (StageSet::Bits left = stages.bits(); left != 0; left &= left - 1)
      ++acted[static_cast<std::size_t>(std::countr_zero(left))];
  }
  /// The rows of all stages, in their order.
  static const FigureTable& figures();
};

/// The lines about the stages in the text report, in the order of the stages.
inline StageLines lines_of(const RuleStats& stats) {
  StageLines lines;
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::report)) S::report(stats, lines);
  });
  return lines;
}

}  // namespace lw::emulator
