// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/philox.h"

namespace lw {

/// FNV-1a over a name, so that a rule's or stage's draws follow its name and not its position.
constexpr std::uint64_t hash_name(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// Random numbers with an address: the key says whose draw it is (seed, direction, rule, stage),
/// the counter which one (the ingress frame number, and the draw's number within that frame).
/// Changing one rule leaves the others' draws alone. Thread safe: it holds no state.
class Chance {
 public:
  constexpr Chance(std::uint64_t seed, std::uint64_t domain) noexcept {
    // The domain is spread by one Philox call under the seed, so that keys which differ in one
    // bit share nothing.
    const auto mixed =
        philox4x32({low(domain), high(domain), 0x6c6f6e67, 0x77697265}, {low(seed), high(seed)});
    key_ = {mixed[0], mixed[1]};
  }

  /// 64 uniform bits of draw `draw` for item `index`.
  [[nodiscard]] constexpr std::uint64_t bits(std::uint64_t index,
                                             std::uint64_t draw = 0) const noexcept {
    const auto block = philox4x32({low(index), high(index), low(draw), high(draw)}, key_);
    return (std::uint64_t{block[1]} << 32) | block[0];
  }

  /// The same of consecutive items' draws: out[i] is bits(first + i, draw).
  void bits(std::uint64_t first, std::uint64_t draw, std::span<std::uint64_t> out) const noexcept;

  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] constexpr double uniform(std::uint64_t index,
                                         std::uint64_t draw = 0) const noexcept {
    return static_cast<double>(bits(index, draw) >> 11) * 0x1.0p-53;
  }

 private:
  static constexpr std::uint32_t low(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v);
  }
  static constexpr std::uint32_t high(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> 32);
  }

  std::array<std::uint32_t, 2> key_{};
};

/// A probability as a threshold on 64 uniform bits: exact to 2^-64, one compare a draw.
class Threshold {
 public:
  /// probability in [0, 1]; 1 means always.
  constexpr explicit Threshold(double probability) noexcept
      : always_(probability >= 1.0),
        below_(probability <= 0.0 || always_ ? 0
                                             : static_cast<std::uint64_t>(probability * 0x1.0p64)) {
  }

  [[nodiscard]] constexpr bool hit(std::uint64_t bits) const noexcept {
    return always_ || bits < below_;
  }

 private:
  bool always_;
  std::uint64_t below_;
};

}  // namespace lw
