// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace lw::wire {

/// A packet sequence number: 24 bits that wrap. It has no `<`, only a signed distance, which is in
/// [-2^23, 2^23). (IBTA vol. 1, 9.7.2)
class Psn {
 public:
  static constexpr std::uint32_t kMask = 0xffffff;

  constexpr Psn() = default;
  /// Bits above the lower 24 are cut off.
  constexpr explicit Psn(std::uint32_t value) noexcept : value_(value & kMask) {}

  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return value_; }

  friend constexpr bool operator==(Psn, Psn) = default;
  friend constexpr Psn operator+(Psn psn, std::uint32_t packets) noexcept {
    return Psn{psn.value_ + packets};
  }
  friend constexpr Psn operator-(Psn psn, std::uint32_t packets) noexcept {
    return Psn{psn.value_ - packets};
  }
  constexpr Psn& operator++() noexcept { return *this = *this + 1; }

  /// Number of packets by which `to` is ahead of `from`; negative if it is behind.
  [[nodiscard]] static constexpr std::int32_t distance(Psn from, Psn to) noexcept {
    const std::uint32_t ahead = (to.value_ - from.value_) & kMask;
    return static_cast<std::int32_t>(ahead) - (ahead >= 0x800000 ? 0x1000000 : 0);
  }

 private:
  std::uint32_t value_ = 0;
};

}  // namespace lw::wire
