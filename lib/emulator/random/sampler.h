// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "emulator/random/distribution.h"

namespace lw::emulator {

/// The quantile function of a smooth distribution as a table, precise in both tails. There are 128
/// nodes in each power of two of the distance to the nearer end, down to 2^-41; values between
/// nodes are interpolated. The error is about 10^-5 of the distribution's scale everywhere; beyond
/// 2^-41 the distribution is cut off. 80 KiB, of which little is used often.
class SmoothSampler {
 public:
  explicit SmoothSampler(const Distribution& distribution);

  /// Returns the delay in ns. `bits`: 64 uniform bits, as a fraction of 2^64.
  [[nodiscard]] double operator()(std::uint64_t bits) const noexcept {
    const bool upper = bits >> 63 != 0;
    const std::uint64_t tail = upper ? ~bits : bits;
    const int zeros = std::countl_zero(tail | kCut);  // 1..kOctaves
    const std::uint64_t mantissa = (tail | kCut) << zeros << 1;
    const auto node = static_cast<std::size_t>(zeros - 1) * kSub + (mantissa >> (64 - kSubBits));
    const double* at = nodes_[upper ? 1 : 0].data() + node;
    const double part = static_cast<double>(mantissa << kSubBits >> 11) * 0x1.0p-53;
    return at[0] + part * (at[node % kSub == kSub - 1 ? next_of_last(node) : 1] - at[0]);
  }

 private:
  static constexpr int kSubBits = 7;
  static constexpr std::size_t kSub = std::size_t{1} << kSubBits;
  static constexpr int kOctaves = 40;
  /// The smallest distance to an end that the table distinguishes, as bits.
  static constexpr std::uint64_t kCut = std::uint64_t{1} << (63 - kOctaves);

  /// The node after an octave's last is the first of the octave before it, which is nearer to the
  /// median.
  static constexpr std::ptrdiff_t next_of_last(std::size_t node) noexcept {
    return node < kSub ? static_cast<std::ptrdiff_t>(kOctaves * kSub - node)
                       : -static_cast<std::ptrdiff_t>(2 * kSub - 1);
  }

  // Lower tail, upper tail; the last node is the median.
  std::array<std::vector<double>, 2> nodes_;
};

/// Samples a binned distribution exactly: a delay between bins never occurs.
class BinSampler {
 public:
  explicit BinSampler(const BinnedDelay& distribution);
  [[nodiscard]] double operator()(std::uint64_t bits) const noexcept;

 private:
  struct Bin {
    std::uint64_t begin;  // start of its part of 2^64
    double low, per_bit;
  };
  static constexpr int kGuideBits = 10;

  std::vector<Bin> bins_;
  std::vector<std::uint32_t> guide_;  // by the first 10 bits: the bin in which they begin
};

/// Samples a uniform distribution; needs no table.
class UniformSampler {
 public:
  explicit UniformSampler(const UniformDelay& distribution) noexcept
      : low_(distribution.low), per_step_((distribution.high - distribution.low) * 0x1.0p-53) {}
  [[nodiscard]] double operator()(std::uint64_t bits) const noexcept {
    return low_ + static_cast<double>(bits >> 11) * per_step_;
  }

 private:
  double low_, per_step_;
};

/// Samples a distribution: converts 64 uniform bits to a delay.
class Sampler {
 public:
  explicit Sampler(const Distribution& distribution);

  [[nodiscard]] double operator()(std::uint64_t bits) const noexcept {
    return std::visit([bits](const auto& sampler) { return sampler(bits); }, sampler_);
  }
  /// Converts many values. Both spans have the same size.
  void operator()(std::span<const std::uint64_t> bits, std::span<double> out) const noexcept {
    std::visit(
        [&](const auto& sampler) { std::ranges::transform(bits, out.begin(), std::cref(sampler)); },
        sampler_);
  }

 private:
  using Any = std::variant<SmoothSampler, BinSampler, UniformSampler>;
  static Any sampler_of(const Distribution& distribution);
  Any sampler_;
};

}  // namespace lw::emulator
