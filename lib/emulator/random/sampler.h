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

/// A smooth distribution's quantile function as a table that knows both tails: nodes stand at
/// 128 places in each power of two of the distance to the nearer end, down to 2^-41, and values
/// between them are interpolated. The error is some 10^-5 of the distribution's own scale
/// everywhere; beyond 2^-41 the distribution is cut. 80 KiB, of which few are ever hot.
class SmoothSampler {
 public:
  explicit SmoothSampler(const Distribution& distribution);

  /// The delay, ns, at 64 uniform bits taken as a share of 2^64.
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
  /// The smallest tail that differs from none, as bits.
  static constexpr std::uint64_t kCut = std::uint64_t{1} << (63 - kOctaves);

  /// Behind an octave's last node stands the first of the octave before it, nearer the middle.
  static constexpr std::ptrdiff_t next_of_last(std::size_t node) noexcept {
    return node < kSub ? static_cast<std::ptrdiff_t>(kOctaves * kSub - node)
                       : -static_cast<std::ptrdiff_t>(2 * kSub - 1);
  }

  // Lower tail, upper tail; the last node is the median.
  std::array<std::vector<double>, 2> nodes_;
};

/// A binned distribution, exactly: no delay between its bins ever comes out.
class BinSampler {
 public:
  explicit BinSampler(const BinnedDelay& distribution);
  [[nodiscard]] double operator()(std::uint64_t bits) const noexcept;

 private:
  struct Bin {
    std::uint64_t begin;  // of its share of 2^64
    double low, per_bit;
  };
  static constexpr int kGuideBits = 10;

  std::vector<Bin> bins_;
  std::vector<std::uint32_t> guide_;  // the bin in which each 2^-10 of the bits begins
};

/// A uniform distribution needs no table.
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

/// Draws from a distribution: 64 uniform bits in, a delay out.
class Sampler {
 public:
  explicit Sampler(const Distribution& distribution);

  [[nodiscard]] double operator()(std::uint64_t bits) const noexcept {
    return std::visit([bits](const auto& sampler) { return sampler(bits); }, sampler_);
  }
  /// The same of many; both have as many items.
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
