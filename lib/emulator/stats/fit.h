// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "emulator/stages/distribution.h"

namespace lw::emulator {

/// Sixteen bins that a distribution's draws fall into about as often: to see whether they do.
class FitBins {
 public:
  static constexpr std::size_t kBins = 16;

  explicit FitBins(const Distribution& distribution) {
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      const double below = static_cast<double>(i + 1) / kBins;
      edges_[i] = quantile(distribution, below, 1 - below);
    }
  }
  /// The bin of a draw; a draw on an edge belongs below it.
  [[nodiscard]] std::size_t operator()(double value) const noexcept {
    return static_cast<std::size_t>(std::ranges::lower_bound(edges_, value) - edges_.begin());
  }
  /// Sixteen but for a distribution that has several draws in one place.
  [[nodiscard]] std::array<double, kBins> probabilities(const Distribution& distribution) const {
    std::array<double, kBins> result{};
    double before = 0;
    for (std::size_t i = 0; i < kBins; ++i) {
      const double up_to = i < edges_.size() ? cumulative(distribution, edges_[i]) : 1;
      result[i] = up_to - before;
      before = up_to;
    }
    return result;
  }

 private:
  std::array<double, kBins - 1> edges_{};
};

}  // namespace lw::emulator
