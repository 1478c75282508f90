// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace lw::emulator {

/// A field's value as up to 16 bytes in network order, at the left; the rest is zero.
using FieldValue = std::array<std::uint8_t, 16>;

/// An integer as the last `bytes` bytes of it, 1..8.
constexpr FieldValue field_value(std::uint64_t value, std::size_t bytes) noexcept {
  FieldValue result{};
  for (std::size_t i = bytes; i-- > 0; value >>= 8)
    result[i] = static_cast<std::uint8_t>(value & 0xff);
  return result;
}

/// Both ends included; first <= last.
struct FieldRange {
  FieldValue first{}, last{};
};

/// What one rule wants of a field: a value in any of the ranges, or, where it doesn't look at the
/// field, any value at all.
struct FieldWish {
  bool any = true;
  std::vector<FieldRange> ranges;
};

/// Sets of rules, one bit a rule, each in words().
class RuleSets {
 public:
  explicit RuleSets(std::size_t rules) : words_((rules + 63) / 64) {}

  [[nodiscard]] std::size_t words() const noexcept { return words_; }
  [[nodiscard]] const std::uint64_t* operator[](std::size_t index) const noexcept {
    return bits_.data() + index * words_;
  }
  /// The index of this set; equal ones are kept once.
  std::uint32_t add(const std::vector<std::uint64_t>& set);
  [[nodiscard]] std::size_t size() const noexcept { return bits_.size() / words_; }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// From a field's value to the set of rules it satisfies: a trie, a byte a level, whose branches
/// end as soon as all longer values agree. However many rules there are, a look-up takes no more
/// steps than the field has bytes.
class ClassTrie {
 public:
  /// `bytes`: the field's width, 1..16. One wish a rule.
  ClassTrie(std::size_t bytes, std::span<const FieldWish> wishes);

  /// The rules that a value satisfies, RuleSets::words() words. `value`: as many bytes as the
  /// field has, in network order.
  template <class Byte>
  [[nodiscard]] const std::uint64_t* find(const Byte* value) const noexcept {
    std::uint32_t cell = root_;
    while (!(cell & kLeaf)) cell = cells_[cell + static_cast<std::uint8_t>(*value++)];
    return sets_[cell & ~kLeaf];
  }
  /// The rules that don't look at the field: what a frame without it satisfies.
  [[nodiscard]] const std::uint64_t* without() const noexcept { return sets_[without_]; }

 private:
  /// A stretch of values that satisfy the same rules, up to the next one's first.
  struct Stretch {
    FieldValue first;
    std::uint32_t set;
  };
  static constexpr std::uint32_t kLeaf = 1u << 31;

  std::vector<Stretch> stretches(std::span<const FieldWish> wishes);
  std::uint32_t set_at(const FieldValue& value, std::span<const FieldWish> wishes);
  std::uint32_t build(std::span<const Stretch> stretches, FieldValue prefix, std::size_t depth);

  std::size_t bytes_;
  RuleSets sets_;
  std::vector<std::uint32_t> cells_;  // nodes of 256: an index of cells_, or a set with kLeaf
  std::uint32_t root_ = 0, without_ = 0;
};

}  // namespace lw::emulator
