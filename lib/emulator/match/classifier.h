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

/// A field's value: up to 16 bytes in network order, left-aligned, padded with zeros.
using FieldValue = std::array<std::uint8_t, 16>;

/// Converts an integer of `bytes` bytes, 1..8.
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

/// A rule's condition on a field: a value in any of the ranges, or any value if the rule does not
/// use the field.
struct FieldRequirement {
  bool any = true;
  std::vector<FieldRange> ranges;
};

/// Sets of rules of one size. A set of few rules has a bit per rule, in words of 64. A set of many
/// rules has, for each group of 64 such words, a word that marks the non-zero ones, and their
/// position. So rules that match few values take little memory, and a search skips 4096 rules at
/// once.
class RuleSets {
 public:
  using Bits = std::vector<std::uint64_t>;  // a bit per rule
  using Set = const std::uint64_t*;
  static constexpr std::size_t kFewWords = 4;

  explicit RuleSets(std::size_t rules) : words_((rules + 63) / 64) {}

  [[nodiscard]] static bool few(std::size_t words) noexcept { return words <= kFewWords; }
  [[nodiscard]] static std::size_t groups(std::size_t words) noexcept { return (words + 63) / 64; }
  /// Returns word `bit` of group `group`, which is not 0. Requires a set of many rules.
  [[nodiscard]] static std::uint64_t word(Set set, std::size_t group, unsigned bit) noexcept {
    const std::uint64_t before = set[2 * group] & ((std::uint64_t{1} << bit) - 1);
    return set[set[2 * group + 1] + static_cast<std::size_t>(std::popcount(before))];
  }
  /// Returns a set in its stored form.
  [[nodiscard]] static Bits stored(const Bits& bits);

  /// Returns the index of this set. Equal sets are stored once.
  std::uint32_t add(const Bits& bits);
  [[nodiscard]] Set operator[](std::size_t index) const noexcept {
    return stored_.data() + begins_[index];
  }
  [[nodiscard]] std::size_t words() const noexcept { return words_; }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> stored_;
  std::vector<std::size_t> begins_;  // position of each set in stored_
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

/// Maps a field's value to the set of rules whose condition it fulfils. A trie with one byte per
/// level; a branch ends as soon as all longer values give the same set. A look-up takes at most as
/// many steps as the field has bytes, for any number of rules.
class ClassTrie {
 public:
  /// `bytes`: the field's width, 1..16. `requirements`: one per rule.
  ClassTrie(std::size_t bytes, std::span<const FieldRequirement> requirements);

  /// Returns the rules whose condition a value fulfils. `value`: the field's bytes in network
  /// order.
  template <class Byte>
  [[nodiscard]] RuleSets::Set find(const Byte* value) const noexcept {
    std::uint32_t cell = root_;
    while (!(cell & kLeaf)) cell = cells_[cell + static_cast<std::uint8_t>(*value++)];
    return sets_[cell & ~kLeaf];
  }
  /// Returns the rules that do not use the field: those that match a frame without it.
  [[nodiscard]] RuleSets::Set without() const noexcept { return sets_[without_]; }

 private:
  /// The values with the same set of rules, from `first` up to the next interval's first.
  struct Interval {
    FieldValue first;
    std::uint32_t set;
  };
  static constexpr std::uint32_t kLeaf = 1u << 31;

  std::vector<Interval> intervals(std::span<const FieldRequirement> requirements);
  std::uint32_t build(std::span<const Interval> intervals, FieldValue prefix, std::size_t depth);

  std::size_t bytes_;
  RuleSets sets_;
  // nodes of 256 cells: each is an index in cells_, or a set with kLeaf
  std::vector<std::uint32_t> cells_;
  std::uint32_t root_ = 0, without_ = 0;
};

/// The conditions of a match, as ranges of a field's values.

/// Converts ranges of numbers of `bytes` bytes. A range whose first is above its last wraps.
FieldRequirement requirement_of(const std::vector<NumberRange>& ranges, std::size_t bytes);

/// Converts prefixes of addresses of `bytes` bytes, 4 or 16. A prefix of the other family matches
/// none of them.
FieldRequirement requirement_of(const std::vector<AddressPrefix>& prefixes, std::size_t bytes);

template <std::size_t N>
FieldRequirement requirement_of(const std::optional<std::bitset<N>>& values) {
  FieldRequirement requirement{.any = !values.has_value(), .ranges = {}};
  for (std::size_t i = 0; values && i < N; ++i)
    if (values->test(i)) requirement.ranges.push_back({field_value(i, 1), field_value(i, 1)});
  return requirement;
}

/// The tries of an address field, one per address family. A rule with prefixes of either family
/// uses the field.
struct AddressTries {
  ClassTrie v4, v6;
};

/// The matches of all rules, compiled into one. Each field that a rule uses gives a set of rules;
/// the first rule in all these sets matches. The cost depends on the number of fields, not of rules
/// (one word for each 4096). Only a filter expression costs a run of its own, after all other
/// conditions of its rule hold. Immutable.
class Classifier {
 public:
  /// At most kMostRules.
  explicit Classifier(std::span<const MatchConfig> rules);

  /// Returns the index of the first matching rule; kUntouched if none matches. `bth` is
  /// bth_of(envelope).
  [[nodiscard]] RuleIndex classify(const roce::Envelope& envelope,
                                   const wire::Bth* bth) const noexcept {
    // Saves a call, about 10 ns a frame, for rules without fields (bench_path).
    if (!looks_) return bth ? first_with_bth_ : first_without_bth_;
    return search(envelope, bth);
  }

  /// Returns the rule that matches every RoCEv2 packet, whatever its fields; kUntouched if there is
  /// none, or if it depends on the packet.
  [[nodiscard]] RuleIndex for_all_rocev2() const noexcept {
    return looks_ ? kUntouched : first_with_bth_;
  }

 private:
  using Set = RuleSets::Set;
  /// The sets of rules of one frame; the matching rules are in all of them.
  struct Sets {
    std::array<Set, 9> of;  // the first `count` of them
    std::size_t count = 0;
    void add(Set set) noexcept { of[count++] = set; }
  };

  [[nodiscard]] RuleIndex search(const roce::Envelope& envelope,
                                 const wire::Bth* bth) const noexcept;
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

  bool looks_;  // true if a rule compares anything besides the presence of a BTH
  RuleIndex first_with_bth_ = kUntouched, first_without_bth_ = kUntouched;
  std::size_t words_;
  // rules that can match frames with, and without, a BTH
  std::vector<std::uint64_t> with_bth_, without_bth_;
  std::optional<ClassTrie> opcode_, kind_, dest_qp_, psn_, vlan_, dscp_;
  std::optional<AddressTries> source_, destination_;
  std::vector<std::optional<Expression>> expressions_;  // empty where no rule has one
};

}  // namespace lw::emulator
