// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/chance.h"

namespace lw::emulator {

struct DuplicateConfig {
  double probability = 0;
  std::uint8_t copies = 1;  // 1..kMostCopies, of each frame that is hit
  friend bool operator==(const DuplicateConfig&, const DuplicateConfig&) = default;
};

/// Says which frames are sent more than once. Each copy goes through the stages behind by itself.
class Duplicator {
 public:
  static constexpr std::uint8_t kMostCopies = 16;

  Duplicator(const DuplicateConfig& config, Chance chance) noexcept
      : copies_(config.copies), probability_(config.probability), chance_(chance) {}

  /// How many frames to make beside the one with this ingress number.
  [[nodiscard]] std::uint8_t copies(std::uint64_t number) const noexcept {
    return probability_.hit(chance_.bits(number)) ? copies_ : std::uint8_t{0};
  }

 private:
  std::uint8_t copies_;
  Threshold probability_;
  Chance chance_;
};

}  // namespace lw::emulator
