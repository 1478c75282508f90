// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/match/classifier.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>

namespace lw::emulator {
namespace {

constexpr std::size_t kFanOut = 256;

/// Returns the value plus one, of `bytes` bytes; nothing after the largest value.
std::optional<FieldValue> next(FieldValue value, std::size_t bytes) noexcept {
  for (std::size_t i = bytes; i-- > 0;)
    if (++value[i] != 0) return value;
  return std::nullopt;
}

std::uint64_t hash_of(const RuleSets::Bits& words) noexcept {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) hash = (std::rotl(hash, 23) ^ word) * 0x9e3779b97f4a7c15;
  return hash;
}

/// A value at which a rule's range begins, or the first value after its end.
struct Edge {
  FieldValue at;
  std::uint32_t rule = 0;
  bool begins = false;
};

/// Returns all edges, sorted by value.
std::vector<Edge> edges_of(std::span<const FieldRequirement> requirements, std::size_t bytes) {
  std::vector<Edge> edges;
  for (std::uint32_t rule = 0; rule < requirements.size(); ++rule)
    for (const FieldRange& range : requirements[rule].ranges) {
      edges.push_back({range.first, rule, true});
      if (const auto after = next(range.last, bytes)) edges.push_back({*after, rule, false});
    }
  std::ranges::sort(edges, {}, &Edge::at);
  return edges;
}

}  // namespace

RuleSets::Bits RuleSets::stored(const Bits& bits) {
  if (few(bits.size())) return bits;
  Bits set(2 * groups(bits.size()));
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const std::size_t group = i / 64;
    if (i % 64 == 0) set[2 * group + 1] = set.size();
    if (bits[i] == 0) continue;
    set[2 * group] |= std::uint64_t{1} << i % 64;
    set.push_back(bits[i]);
  }
  return set;
}

std::uint32_t RuleSets::add(const Bits& bits) {
  const Bits set = stored(bits);
  const std::uint64_t hash = hash_of(set);
  for (auto [same, end] = by_hash_.equal_range(hash); same != end; ++same) {
    const std::size_t begin = begins_[same->second];
    if (stored_.size() - begin >= set.size() &&
        std::equal(set.begin(), set.end(), (*this)[same->second]))
      return same->second;
  }
  const auto index = static_cast<std::uint32_t>(begins_.size());
  by_hash_.emplace(hash, index);
  begins_.push_back(stored_.size());
  stored_.insert(stored_.end(), set.begin(), set.end());
  return index;
}

ClassTrie::ClassTrie(std::size_t bytes, std::span<const FieldRequirement> requirements)
    : bytes_(bytes), sets_(std::max<std::size_t>(requirements.size(), 1)) {
  RuleSets::Bits indifferent(sets_.words());
  for (std::size_t rule = 0; rule < requirements.size(); ++rule)
    if (requirements[rule].any) indifferent[rule / 64] |= std::uint64_t{1} << rule % 64;
  without_ = sets_.add(indifferent);
  root_ = build(intervals(requirements), {}, 0);
}

/// Returns intervals that are split wherever a rule's range begins or has ended. The ranges of a
/// rule may overlap.
std::vector<ClassTrie::Interval> ClassTrie::intervals(
    std::span<const FieldRequirement> requirements) {
  const std::vector<Edge> edges = edges_of(requirements, bytes_);
  RuleSets::Bits bits(sets_.words());
  // number of ranges that contain the value; one more if any value matches
  std::vector<std::uint32_t> open(requirements.size());
  const auto change = [&](std::size_t rule, bool begins) {
    begins ? ++open[rule] : --open[rule];
    const std::uint64_t bit = std::uint64_t{1} << rule % 64;
    if (open[rule] > 0) {
      bits[rule / 64] |= bit;
    } else {
      bits[rule / 64] &= ~bit;
    }
  };
  for (std::size_t rule = 0; rule < requirements.size(); ++rule)
    if (requirements[rule].any) change(rule, true);
  std::vector<Interval> result;
  for (std::size_t i = 0; i < edges.size() || result.empty();) {
    const FieldValue at = result.empty() ? FieldValue{} : edges[i].at;
    for (; i < edges.size() && edges[i].at == at; ++i) change(edges[i].rule, edges[i].begins);
    result.push_back({at, sets_.add(bits)});
  }
  return result;
}

/// Returns the cell for all values that begin with the first `depth` bytes of `prefix`.
/// `intervals`: those that contain such values; the first may begin before them.
std::uint32_t ClassTrie::build(std::span<const Interval> intervals, FieldValue prefix,
                               std::size_t depth) {
  if (intervals.size() == 1) return intervals.front().set | kLeaf;
  const auto node = static_cast<std::uint32_t>(cells_.size());
  cells_.resize(cells_.size() + kFanOut);
  auto begin = intervals.begin();
  for (std::size_t byte = 0; byte < kFanOut; ++byte) {
    prefix[depth] = static_cast<std::uint8_t>(byte);
    const auto after = next(prefix, depth + 1);
    const auto before_it = [&](const Interval& s) { return !after || s.first < *after; };
    const auto end = std::partition_point(begin, intervals.end(), before_it);
    const std::uint32_t cell = build({begin, end}, prefix, depth + 1);
    cells_[node + byte] = cell;
    // The last interval continues in the next byte, unless another one begins exactly there.
    begin = end != intervals.end() && end->first == *after ? end : end - 1;
  }
  return node;
}

namespace {

FieldRange range_of(const AddressPrefix& prefix) noexcept {
  FieldRange range;
  std::visit(
      [&](const auto& address) {
        for (std::size_t i = 0; i < address.bytes.size(); ++i) {
          const std::size_t fixed = prefix.length > 8 * i ? prefix.length - 8 * i : 0;
          const auto free = static_cast<std::uint8_t>(fixed >= 8 ? 0 : 0xff >> fixed);
          const auto byte = std::to_integer<std::uint8_t>(address.bytes[i]);
          range.first[i] = static_cast<std::uint8_t>(byte & ~free);
          range.last[i] = static_cast<std::uint8_t>(byte | free);
        }
      },
      prefix.address);
  return range;
}

}  // namespace

FieldRequirement requirement_of(const std::vector<NumberRange>& ranges, std::size_t bytes) {
  FieldRequirement requirement{.any = ranges.empty(), .ranges = {}};
  const auto add = [&](std::uint32_t first, std::uint32_t last) {
    requirement.ranges.push_back({field_value(first, bytes), field_value(last, bytes)});
  };
  for (const NumberRange& range : ranges) {
    if (range.first <= range.last) {
      add(range.first, range.last);
      continue;
    }
    add(range.first, 0xffffffffu >> (32 - 8 * bytes));
    add(0, range.last);
  }
  return requirement;
}

FieldRequirement requirement_of(const std::vector<AddressPrefix>& prefixes, std::size_t bytes) {
  FieldRequirement requirement{.any = prefixes.empty(), .ranges = {}};
  for (const AddressPrefix& prefix : prefixes) {
    const bool v4 = std::holds_alternative<wire::Ipv4Address>(prefix.address);
    if (v4 == (bytes == 4)) requirement.ranges.push_back(range_of(prefix));
  }
  return requirement;
}

namespace {

template <class Wish>
std::optional<ClassTrie> trie(std::size_t bytes, std::span<const MatchConfig> rules,
                              Wish requirement) {
  std::vector<FieldRequirement> requirements;
  for (const MatchConfig& rule : rules) requirements.push_back(requirement(rule));
  if (std::ranges::all_of(requirements, &FieldRequirement::any)) return std::nullopt;
  return ClassTrie(bytes, requirements);
}

std::optional<AddressTries> address_tries(
    std::span<const MatchConfig> rules, const std::vector<AddressPrefix> MatchConfig::* prefixes) {
  std::vector<FieldRequirement> v4, v6;
  for (const MatchConfig& rule : rules) {
    v4.push_back(requirement_of(rule.*prefixes, sizeof(wire::Ipv4Address)));
    v6.push_back(requirement_of(rule.*prefixes, sizeof(wire::Ipv6Address)));
  }
  if (std::ranges::all_of(v4, &FieldRequirement::any)) return std::nullopt;
  return AddressTries{{sizeof(wire::Ipv4Address), v4}, {sizeof(wire::Ipv6Address), v6}};
}

bool looks_at_a_field(const MatchConfig& rule) noexcept { return rule != MatchConfig{rule.frames}; }

}  // namespace

Classifier::Classifier(std::span<const MatchConfig> rules)
    : looks_(std::ranges::any_of(rules, looks_at_a_field)),
      words_((rules.size() + 63) / 64),
      opcode_(trie(1, rules, [](const MatchConfig& r) { return requirement_of(r.opcodes); })),
      kind_(trie(1, rules, [](const MatchConfig& r) { return requirement_of(r.kinds); })),
      dest_qp_(trie(3, rules, [](const MatchConfig& r) { return requirement_of(r.dest_qp, 3); })),
      psn_(trie(3, rules, [](const MatchConfig& r) { return requirement_of(r.psn, 3); })),
      vlan_(trie(2, rules, [](const MatchConfig& r) { return requirement_of(r.vlan, 2); })),
      dscp_(trie(1, rules, [](const MatchConfig& r) { return requirement_of(r.dscp, 1); })),
      source_(address_tries(rules, &MatchConfig::source)),
      destination_(address_tries(rules, &MatchConfig::destination)) {
  assert(rules.size() <= kMostRules);
  RuleSets::Bits with_bth(words_), without_bth(words_);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i % 64;
    with_bth[i / 64] |= bit;
    if (!rules[i].needs_bth()) without_bth[i / 64] |= bit;
  }
  with_bth_ = RuleSets::stored(with_bth);
  without_bth_ = RuleSets::stored(without_bth);
  if (!rules.empty()) first_with_bth_ = 0;
  const auto other = std::ranges::find_if_not(rules, &MatchConfig::needs_bth);
  if (other != rules.end()) first_without_bth_ = static_cast<RuleIndex>(other - rules.begin());
  if (std::ranges::none_of(rules, [](const MatchConfig& r) { return r.expression.has_value(); }))
    return;
  for (const MatchConfig& rule : rules) expressions_.push_back(rule.expression);
}

RuleIndex Classifier::search(const roce::Envelope& envelope, const wire::Bth* bth) const noexcept {
  Sets sets;
  if (bth) {
    add_bth_sets(envelope, *bth, sets);
  } else {
    sets.add(without_bth_.data());
  }
  if (vlan_ || dscp_ || source_ || destination_) add_network_sets(envelope, sets);
  // All rules that match frames with a BTH: this set is needed only if no field is compared.
  if (sets.count == 0) sets.add(with_bth_.data());
  return first_in(sets, envelope);
}

void Classifier::add_bth_sets(const roce::Envelope& envelope, const wire::Bth& bth,
                              Sets& sets) const noexcept {
  const auto* bytes = reinterpret_cast<const std::byte*>(&bth);
  if (opcode_) sets.add(opcode_->find(bytes + offsetof(wire::Bth, opcode)));
  if (dest_qp_) sets.add(dest_qp_->find(bytes + offsetof(wire::Bth, dest_qp)));
  if (psn_) sets.add(psn_->find(bytes + offsetof(wire::Bth, psn_bytes)));
  if (kind_) {
    const auto kind = static_cast<std::uint8_t>(kind_of(envelope, bth));
    sets.add(kind_->find(&kind));
  }
}

void Classifier::add_network_sets(const roce::Envelope& envelope, Sets& sets) const noexcept {
  if (vlan_) {
    const auto id = field_value(envelope.vlan_count ? envelope.vlans[0]->id() : 0, 2);
    sets.add(envelope.vlan_count ? vlan_->find(id.data()) : vlan_->without());
  }
  const wire::Ipv6* v6 = envelope.ipv6 ? envelope.ipv6 : envelope.grh;
  if (dscp_) {
    const std::uint8_t dscp = envelope.dscp();
    sets.add(envelope.ipv4 || v6 ? dscp_->find(&dscp) : dscp_->without());
  }
  const auto add_address = [&](const AddressTries& tries, auto member4, auto member6) {
    if (envelope.ipv4) return sets.add(tries.v4.find((envelope.ipv4->*member4).bytes.data()));
    sets.add(v6 ? tries.v6.find((v6->*member6).bytes.data()) : tries.v6.without());
  };
  if (source_) add_address(*source_, &wire::Ipv4::source, &wire::Ipv6::source);
  if (destination_) add_address(*destination_, &wire::Ipv4::destination, &wire::Ipv6::destination);
}

RuleIndex Classifier::first_in(const Sets& sets, const roce::Envelope& envelope) const noexcept {
  if (!RuleSets::few(words_)) return first_of_many(sets, envelope);
  for (std::size_t word = 0; word < words_; ++word) {
    std::uint64_t rules = sets.of[0][word];
    for (std::size_t i = 1; i < sets.count; ++i) rules &= sets.of[i][word];
    if (const RuleIndex found = first_in_word(word, rules, envelope); found != kUntouched)
      return found;
  }
  return kUntouched;
}

RuleIndex Classifier::first_of_many(const Sets& sets,
                                    const roce::Envelope& envelope) const noexcept {
  for (std::size_t group = 0; group < RuleSets::groups(words_); ++group) {
    std::uint64_t words = sets.of[0][2 * group];
    for (std::size_t i = 1; i < sets.count; ++i) words &= sets.of[i][2 * group];
    for (; words; words &= words - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(words));
      std::uint64_t rules = RuleSets::word(sets.of[0], group, bit);
      for (std::size_t i = 1; i < sets.count; ++i) rules &= RuleSets::word(sets.of[i], group, bit);
      const RuleIndex found = first_in_word(64 * group + bit, rules, envelope);
      if (found != kUntouched) return found;
    }
  }
  return kUntouched;
}

/// Returns the first matching rule of a word.
RuleIndex Classifier::first_in_word(std::size_t word, std::uint64_t rules,
                                    const roce::Envelope& envelope) const noexcept {
  for (; rules; rules &= rules - 1) {
    const std::size_t rule = word * 64 + static_cast<std::size_t>(std::countr_zero(rules));
    if (expression_holds(rule, envelope)) return static_cast<RuleIndex>(rule);
  }
  return kUntouched;
}

bool Classifier::expression_holds(std::size_t rule, const roce::Envelope& envelope) const noexcept {
  if (expressions_.empty() || !expressions_[rule]) return true;
  return expressions_[rule]->program.matches(envelope.bytes,
                                             static_cast<std::uint32_t>(envelope.wire_length));
}

}  // namespace lw::emulator
