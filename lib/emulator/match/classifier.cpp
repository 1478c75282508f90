// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/match/classifier.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "emulator/match/match_wishes.h"

namespace lw::emulator {
namespace {

template <class Wish>
std::optional<ClassTrie> trie(std::size_t bytes, std::span<const MatchConfig> rules, Wish wish) {
  std::vector<FieldWish> wishes;
  for (const MatchConfig& rule : rules) wishes.push_back(wish(rule));
  if (std::ranges::all_of(wishes, &FieldWish::any)) return std::nullopt;
  return ClassTrie(bytes, wishes);
}

std::optional<AddressTries> address_tries(
    std::span<const MatchConfig> rules, const std::vector<AddressPrefix> MatchConfig::* prefixes) {
  std::vector<FieldWish> v4, v6;
  for (const MatchConfig& rule : rules) {
    v4.push_back(wish_of(rule.*prefixes, sizeof(wire::Ipv4Address)));
    v6.push_back(wish_of(rule.*prefixes, sizeof(wire::Ipv6Address)));
  }
  if (std::ranges::all_of(v4, &FieldWish::any)) return std::nullopt;
  return AddressTries{{sizeof(wire::Ipv4Address), v4}, {sizeof(wire::Ipv6Address), v6}};
}

bool looks_at_a_field(const MatchConfig& rule) noexcept { return rule != MatchConfig{rule.frames}; }

}  // namespace

Classifier::Classifier(std::span<const MatchConfig> rules)
    : looks_(std::ranges::any_of(rules, looks_at_a_field)),
      words_((rules.size() + 63) / 64),
      with_bth_(words_),
      without_bth_(words_),
      opcode_(trie(1, rules, [](const MatchConfig& r) { return wish_of(r.opcodes); })),
      kind_(trie(1, rules, [](const MatchConfig& r) { return wish_of(r.kinds); })),
      dest_qp_(trie(3, rules, [](const MatchConfig& r) { return wish_of(r.dest_qp, 3); })),
      psn_(trie(3, rules, [](const MatchConfig& r) { return wish_of(r.psn, 3); })),
      vlan_(trie(2, rules, [](const MatchConfig& r) { return wish_of(r.vlan, 2); })),
      dscp_(trie(1, rules, [](const MatchConfig& r) { return wish_of(r.dscp, 1); })),
      source_(address_tries(rules, &MatchConfig::source)),
      destination_(address_tries(rules, &MatchConfig::destination)) {
  assert(rules.size() < kUntouched);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i % 64;
    with_bth_[i / 64] |= bit;
    if (!rules[i].needs_bth()) without_bth_[i / 64] |= bit;
  }
  if (!rules.empty()) first_with_bth_ = 0;
  const auto other = std::ranges::find_if_not(rules, &MatchConfig::needs_bth);
  if (other != rules.end()) first_without_bth_ = static_cast<RuleIndex>(other - rules.begin());
  if (std::ranges::none_of(rules, [](const MatchConfig& r) { return r.expression.has_value(); }))
    return;
  for (const MatchConfig& rule : rules) expressions_.push_back(rule.expression);
}

RuleIndex Classifier::look(const roce::Envelope& envelope, const wire::Bth* bth) const noexcept {
  Sets sets;
  sets.add(bth ? with_bth_.data() : without_bth_.data());
  if (bth) add_bth_sets(envelope, *bth, sets);
  if (vlan_ || dscp_ || source_ || destination_) add_network_sets(envelope, sets);
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
  for (std::size_t word = 0; word < words_; ++word) {
    std::uint64_t rules = sets.of[0][word];
    for (std::size_t i = 1; i < sets.count; ++i) rules &= sets.of[i][word];
    for (; rules; rules &= rules - 1) {
      const std::size_t rule = word * 64 + static_cast<std::size_t>(std::countr_zero(rules));
      if (expression_holds(rule, envelope)) return static_cast<RuleIndex>(rule);
    }
  }
  return kUntouched;
}

bool Classifier::expression_holds(std::size_t rule, const roce::Envelope& envelope) const noexcept {
  if (expressions_.empty() || !expressions_[rule]) return true;
  return expressions_[rule]->program.matches(envelope.bytes,
                                             static_cast<std::uint32_t>(envelope.wire_length));
}

}  // namespace lw::emulator
