// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace lw {

/// The random function Philox4x32-10: returns 128 random bits for a counter and a key. The same
/// arguments give the same bits on every machine.
/// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; the unit test
/// checks the authors' known-answer vectors.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) noexcept {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

/// FNV-1a hash of a name. With it the draws of a rule or stage depend on its name, not its
/// position.
constexpr std::uint64_t hash_name(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// Addressed random numbers: a draw is a function of a key (seed and domain: direction, rule,
/// stage), the ingress frame number and the draw's number within that frame. There is no stream, so
/// draws don't depend on the number of cores, and changing one rule doesn't change the draws of
/// others. Immutable; any thread may use it.
class Chance {
 public:
  constexpr Chance(std::uint64_t seed, std::uint64_t domain) noexcept {
    // One Philox call mixes the domain with the seed: keys that differ in one bit are unrelated.
    const auto mixed =
        philox4x32({low(domain), high(domain), 0x6c6f6e67, 0x77697265}, {low(seed), high(seed)});
    key_ = {mixed[0], mixed[1]};
  }

  /// Returns 64 uniform bits: draw `draw` of item `index`.
  [[nodiscard]] constexpr std::uint64_t bits(std::uint64_t index,
                                             std::uint64_t draw = 0) const noexcept {
    const auto block = philox4x32({low(index), high(index), low(draw), high(draw)}, key_);
    return (std::uint64_t{block[1]} << 32) | block[0];
  }

  /// Draws for consecutive items: sets out[i] to bits(first + i, draw).
  void bits(std::uint64_t first, std::uint64_t draw, std::span<std::uint64_t> out) const noexcept;

  /// Returns a uniform number in [0, 1), of 53 bits.
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

/// A probability as a threshold on 64 uniform bits: exact to 2^-64, one comparison per draw.
class Threshold {
 public:
  /// `probability` is in [0, 1]; 1 means always.
  constexpr explicit Threshold(double probability) noexcept
      : always_(probability >= 1.0),
        below_(probability <= 0.0 || always_ ? 0
                                             : static_cast<std::uint64_t>(probability * 0x1.0p64)) {
  }

  /// True with this probability, for uniform `bits`.
  [[nodiscard]] constexpr bool hit(std::uint64_t bits) const noexcept {
    return always_ || bits < below_;
  }

 private:
  bool always_;
  std::uint64_t below_;
};

}  // namespace lw
