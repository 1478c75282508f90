// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lw::emulator {

/// Distributions of a delay. Parameters that are times are in ns.
struct UniformDelay {
  double low = 0, high = 0;  // low <= high
  friend bool operator==(const UniformDelay&, const UniformDelay&) = default;
};
struct NormalDelay {
  double mean = 0, deviation = 0;
  friend bool operator==(const NormalDelay&, const NormalDelay&) = default;
};
struct ExponentialDelay {
  double mean = 0;
  friend bool operator==(const ExponentialDelay&, const ExponentialDelay&) = default;
};
struct GammaDelay {
  double shape = 1, scale = 0;  // mean shape x scale; shape in 0.05..10^6
  friend bool operator==(const GammaDelay&, const GammaDelay&) = default;
};
/// Never below `minimum`; above x with probability (minimum / x)^shape.
struct ParetoDelay {
  double shape = 1, minimum = 0;
  friend bool operator==(const ParetoDelay&, const ParetoDelay&) = default;
};
/// The delay's logarithm has a normal distribution with this deviation.
struct LogNormalDelay {
  double median = 0, sigma = 0;
  friend bool operator==(const LogNormalDelay&, const LogNormalDelay&) = default;
};
/// Bins with weights; within a bin all delays are equally likely. Describes a histogram or, with
/// low = high, a list of delays.
struct BinnedDelay {
  struct Bin {
    double low = 0, high = 0, weight = 1;  // low <= high, weight > 0
    friend bool operator==(const Bin&, const Bin&) = default;
  };
  std::vector<Bin> bins;  // not empty, ascending
  friend bool operator==(const BinnedDelay&, const BinnedDelay&) = default;
};

using Distribution = std::variant<UniformDelay, NormalDelay, ExponentialDelay, GammaDelay,
                                  ParetoDelay, LogNormalDelay, BinnedDelay>;

/// Returns the delay in ns that a share `below` of all delays does not exceed. `above` = 1 - below
/// is a separate argument because a double close to 1 has too little precision. Both are in (0, 1).
double quantile(const Distribution& distribution, double below, double above) noexcept;

/// Returns the share of delays that are at most `delay`, in ns.
double cumulative(const Distribution& distribution, double delay) noexcept;

/// Returns the mean in ns; infinite for a Pareto distribution of shape <= 1.
double mean_of(const Distribution& distribution) noexcept;
/// Returns the standard deviation in ns; infinite for a Pareto distribution of shape <= 2.
double deviation_of(const Distribution& distribution) noexcept;
/// Returns "normal, mean 1 ms, deviation 10 us".
std::string describe(const Distribution& distribution);

/// Quantile of the standard normal distribution, with arguments like quantile(), and its
/// distribution function.
double normal_quantile(double below, double above) noexcept;
double normal_cumulative(double z) noexcept;

/// The regularised incomplete gamma functions P(shape, x) and Q = 1 - P. shape > 0, x >= 0.
/// (Numerical Recipes, 6.2: series below shape + 1, continued fraction above.)
struct IncompleteGamma {
  double below, above;
};
IncompleteGamma incomplete_gamma(double shape, double x) noexcept;

}  // namespace lw::emulator
