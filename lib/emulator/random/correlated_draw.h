// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/chance.h"

namespace lw::emulator {

/// A probability, and how much each draw resembles the one before it.
///
/// As in netem (sch_netem.c, get_crandom): x = (1 - correlation) u + correlation x', where u is
/// uniform in [0, 1) and x' is the x of the draw before; a draw hits if x < probability. x is not
/// uniform: it is seldom near 0 or 1. So with a correlation, the share of hits is not the
/// probability but correlated_share(), which is less for a probability below 50 %.
class CorrelatedDraw {
 public:
  /// `correlation` is in [0, kMost]; 0: draws are independent. `chance` gives the first x'.
  CorrelatedDraw(double probability, double correlation, const Chance& chance) noexcept
      : independent_(probability),
        probability_(probability),
        kept_(correlation),
        last_(chance.uniform(UINT64_MAX)) {}

  static constexpr double kMost = 0.99;

  /// Requires uniform `bits`. A draw with a correlation changes the next.
  bool hit(std::uint64_t bits) noexcept {
    if (kept_ == 0) [[likely]]
      return independent_.hit(bits);
    last_ = (1 - kept_) * static_cast<double>(bits >> 11) * 0x1.0p-53 + kept_ * last_;
    return last_ < probability_;
  }

 private:
  Threshold independent_;
  double probability_, kept_, last_;
};

/// Returns the share of hits of a CorrelatedDraw in the long run.
double correlated_share(double probability, double correlation);

}  // namespace lw::emulator
