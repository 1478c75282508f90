// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

namespace lw::emulator {

/// 65536 bits and a fast answer to "which is the next one that is set": a word a 64 bits, a bit a
/// word of those, and a bit a word of those in turn.
class BitMap {
 public:
  static constexpr std::uint32_t kBits = 1U << 16;

  void set(std::uint32_t bit) noexcept {
    words_->leaves[bit >> 6] |= one(bit);
    words_->middle[bit >> 12] |= one(bit >> 6);
    words_->top |= one(bit >> 12);
  }
  void clear(std::uint32_t bit) noexcept {
    if ((words_->leaves[bit >> 6] &= ~one(bit)) != 0) return;
    if ((words_->middle[bit >> 12] &= ~one(bit >> 6)) != 0) return;
    words_->top &= ~one(bit >> 12);
  }
  /// The first set bit at or behind `from`; kBits where there is none.
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const noexcept {
    if (from >= kBits) return kBits;
    if (const auto word = words_->leaves[from >> 6] >> (from & 63)) return from + first(word);
    const std::uint32_t leaf = next_in(words_->middle, (from >> 6) + 1);
    return leaf == kBits >> 6 ? kBits : (leaf << 6) + first(words_->leaves[leaf]);
  }

 private:
  struct Words {
    std::array<std::uint64_t, (kBits >> 6)> leaves{};
    std::array<std::uint64_t, (kBits >> 12)> middle{};
    std::uint64_t top = 0;
  };

  static constexpr std::uint64_t one(std::uint32_t bit) noexcept {
    return std::uint64_t{1} << (bit & 63);
  }
  static std::uint32_t first(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(word));
  }
  /// The first leaf at or behind `from` with a bit set; one past the last where there is none.
  [[nodiscard]] std::uint32_t next_in(const std::array<std::uint64_t, (kBits >> 12)>& middle,
                                      std::uint32_t from) const noexcept {
    constexpr std::uint32_t kLeaves = kBits >> 6;
    if (from >= kLeaves) return kLeaves;
    if (const auto word = middle[from >> 6] >> (from & 63)) return from + first(word);
    const std::uint32_t row = (from >> 6) + 1;
    if (row >= middle.size()) return kLeaves;
    const std::uint64_t above = words_->top >> row << row;
    if (above == 0) return kLeaves;
    return (first(above) << 6) + first(middle[first(above)]);
  }

  std::unique_ptr<Words> words_ = std::make_unique<Words>();
};

}  // namespace lw::emulator
