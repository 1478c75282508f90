// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <bitset>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "emulator/decision.h"
#include "emulator/match/match.h"

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
struct FieldRequirement {
  bool any = true;
  std::vector<FieldRange> ranges;
};

/// Sets of rules of one size. A set of few rules has a bit per rule, in words of 64. A set of many
/// has, for each 64 such words (a group), a word that tells which of them are not 0, and where they
/// are: so rules that match few values take little memory, and a search skips 4096 rules at once.
class RuleSets {
 public:
  using Bits = std::vector<std::uint64_t>;  // a bit per rule
  using Set = const std::uint64_t*;
  static constexpr std::size_t kFewWords = 4;

  explicit RuleSets(std::size_t rules) : words_((rules + 63) / 64) {}

  [[nodiscard]] static bool few(std::size_t words) noexcept { return words <= kFewWords; }
  [[nodiscard]] static std::size_t groups(std::size_t words) noexcept { return (words + 63) / 64; }
  /// Word `bit` of group `group`, which is not 0. Only of a set of many.
  [[nodiscard]] static std::uint64_t word(Set set, std::size_t group, unsigned bit) noexcept {
    const std::uint64_t before = set[2 * group] & ((std::uint64_t{1} << bit) - 1);
    return set[set[2 * group + 1] + static_cast<std::size_t>(std::popcount(before))];
  }
  /// A set as it is stored.
  [[nodiscard]] static Bits stored(const Bits& bits);

  /// The index of this set; equal ones are kept once.
  std::uint32_t add(const Bits& bits);
  [[nodiscard]] Set operator[](std::size_t index) const noexcept {
    return stored_.data() + begins_[index];
  }
  [[nodiscard]] std::size_t words() const noexcept { return words_; }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> stored_;
  std::vector<std::size_t> begins_;  // of each set in stored_
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

/// From a field's value to the set of rules it satisfies: a trie, a byte a level, whose branches
/// end as soon as all longer values agree. However many rules there are, a look-up takes no more
/// steps than the field has bytes.
class ClassTrie {
 public:
  /// `bytes`: the field's width, 1..16. One requirement a rule.
  ClassTrie(std::size_t bytes, std::span<const FieldRequirement> requirements);

  /// The rules that a value satisfies. `value`: as many bytes as the field has, in network order.
  template <class Byte>
  [[nodiscard]] RuleSets::Set find(const Byte* value) const noexcept {
    std::uint32_t cell = root_;
    while (!(cell & kLeaf)) cell = cells_[cell + static_cast<std::uint8_t>(*value++)];
    return sets_[cell & ~kLeaf];
  }
  /// The rules that don't look at the field: what a frame without it satisfies.
  [[nodiscard]] RuleSets::Set without() const noexcept { return sets_[without_]; }

 private:
  /// A interval of values that satisfy the same rules, up to the next one's first.
  struct Interval {
    FieldValue first;
    std::uint32_t set;
  };
  static constexpr std::uint32_t kLeaf = 1u << 31;

  std::vector<Interval> intervals(std::span<const FieldRequirement> requirements);
  std::uint32_t build(std::span<const Interval> intervals, FieldValue prefix, std::size_t depth);

  std::size_t bytes_;
  RuleSets sets_;
  std::vector<std::uint32_t> cells_;  // nodes of 256: an index of cells_, or a set with kLeaf
  std::uint32_t root_ = 0, without_ = 0;
};

/// What the parts of a match want of their fields, as ranges of values.

/// Numbers of `bytes` bytes; a range whose first is above its last wraps.
FieldRequirement requirement_of(const std::vector<NumberRange>& ranges, std::size_t bytes);

/// Addresses of `bytes` bytes: 4 or 16; the other family's prefixes hold for none of them.
FieldRequirement requirement_of(const std::vector<AddressPrefix>& prefixes, std::size_t bytes);

template <std::size_t N>
FieldRequirement requirement_of(const std::optional<std::bitset<N>>& values) {
  FieldRequirement requirement{.any = !values.has_value(), .ranges = {}};
  for (std::size_t i = 0; values && i < N; ++i)
    if (values->test(i)) requirement.ranges.push_back({field_value(i, 1), field_value(i, 1)});
  return requirement;
}

/// An address has two forms; a rule looks at the field, whichever form its prefixes have.
struct AddressTries {
  ClassTrie v4, v6;
};

/// All rules' matches compiled into one: each field that any of them looks at gives the set of
/// rules it satisfies, and the first rule in all of these sets is the answer. The cost follows the
/// number of fields, not of rules (a word for each 4096); only an expression costs a run of its
/// own, when all else of its rule holds. Immutable.
class Classifier {
 public:
  /// At most kMostRules.
  explicit Classifier(std::span<const MatchConfig> rules);

  /// The index of the first rule that matches; kUntouched where none does. `bth` is
  /// bth_of(envelope).
  [[nodiscard]] RuleIndex classify(const roce::Envelope& envelope,
                                   const wire::Bth* bth) const noexcept {
    // bench_path: rules without a field spare a call, some 10 ns a frame.
    if (!looks_) return bth ? first_with_bth_ : first_without_bth_;
    return look(envelope, bth);
  }

  /// The rule of every RoCEv2 packet, whatever stands in it; kUntouched where there is none, or
  /// where it depends on the packet.
  [[nodiscard]] RuleIndex for_all_rocev2() const noexcept {
    return looks_ ? kUntouched : first_with_bth_;
  }

 private:
  using Set = RuleSets::Set;
  /// The sets of one frame, all of which must hold a rule.
  struct Sets {
    std::array<Set, 9> of;  // the first `count` of them
    std::size_t count = 0;
    void add(Set set) noexcept { of[count++] = set; }
  };

  [[nodiscard]] RuleIndex look(const roce::Envelope& envelope, const wire::Bth* bth) const noexcept;
  void add_network_sets(const roce::Envelope& envelope, Sets& sets) const noexcept;
  void add_bth_sets(const roce::Envelope& envelope, const wire::Bth& bth,
                    Sets& sets) const noexcept;
  [[nodiscard]] RuleIndex first_in(const Sets& sets, const roce::Envelope& envelope) const noexcept;
  [[nodiscard]] RuleIndex first_of_many(const Sets& sets,
                                        const roce::Envelope& envelope) const noexcept;
  [[nodiscard]] RuleIndex first_in_word(std::size_t word, std::uint64_t rules,
                                        const roce::Envelope& envelope) const noexcept;
  [[nodiscard]] bool expression_holds(std::size_t rule,
                                      const roce::Envelope& envelope) const noexcept;

  bool looks_;  // at anything but whether there is a BTH
  RuleIndex first_with_bth_ = kUntouched, first_without_bth_ = kUntouched;
  std::size_t words_;
  std::vector<std::uint64_t> with_bth_, without_bth_;  // rules that such a frame can match at all
  std::optional<ClassTrie> opcode_, kind_, dest_qp_, psn_, vlan_, dscp_;
  std::optional<AddressTries> source_, destination_;
  std::vector<std::optional<Expression>> expressions_;  // empty where no rule has one
};

}  // namespace lw::emulator
