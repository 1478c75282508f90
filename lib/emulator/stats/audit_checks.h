// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "emulator/stats/audit.h"

namespace lw::emulator {

// Of a normal variable 7 in 10^6 lie further out.
inline constexpr double kDeviations = 4.5;
// -ln of half of 10^-5: what either end of a bound by exponential moments may be exceeded with.
inline constexpr double kUnlikely = 12.2061;

/// A share of `frames` whose count has this variance, each event counting up to `most`
/// (Bernstein's bound, which holds for few events, too).
Check share(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
            double asked, double variance, double most = 1);

/// Each frame by itself, with this probability. Few of them, or ends of the scale, have Chernoff's
/// bound, which is narrower there: what is asked always, or never, must be so.
Check binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
               double asked);

/// Each frame by itself, with a probability of its own: their sum, and the sum of p (1 - p).
Check poisson_binomial(Stage stage, std::string_view what, std::uint64_t frames, std::uint64_t hits,
                       double expected, double variance);

/// Counts of a distribution's bins against their probabilities, which sum up to 1 (Pearson). Bins
/// in which less than five are expected are taken together with their neighbours.
Check chi_square(Stage stage, std::string_view what, std::span<const std::uint64_t> counts,
                 std::span<const double> probabilities);

}  // namespace lw::emulator
