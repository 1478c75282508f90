// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

namespace lw::emulator {

/// Says of most QPNs that they aren't among those added: a bit for each of 65,536 hashes, small
/// enough to stay in the first cache.
class QpFilter {
 public:
  void add(std::uint32_t qpn) noexcept { words_[hash(qpn) / 64] |= bit(qpn); }
  /// False: it was never added.
  [[nodiscard]] bool may_hold(std::uint32_t qpn) const noexcept {
    return words_[hash(qpn) / 64] & bit(qpn);
  }

 private:
  /// Neighbouring QPNs share no bit.
  static constexpr std::uint32_t hash(std::uint32_t qpn) noexcept {
    return qpn * 0x9e3779b1u >> 16;
  }
  static constexpr std::uint64_t bit(std::uint32_t qpn) noexcept {
    return std::uint64_t{1} << hash(qpn) % 64;
  }
  std::array<std::uint64_t, 1024> words_{};
};

}  // namespace lw::emulator
