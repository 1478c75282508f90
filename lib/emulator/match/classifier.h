// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emulator/decision.h"
#include "emulator/match/class_trie.h"
#include "emulator/match/match.h"

namespace lw::emulator {

/// An address has two forms; a rule looks at the field, whichever form its prefixes have.
struct AddressTries {
  ClassTrie v4, v6;
};

/// All rules' matches compiled into one: each field that any of them looks at gives the set of
/// rules it satisfies, and the first rule in all of these sets is the answer. The cost follows the
/// number of fields, not of rules (a word for each 64); only an expression costs a run of its own,
/// when all else of its rule holds. Immutable.
class Classifier {
 public:
  /// At most 65,535 rules.
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
  using Set = const std::uint64_t*;
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
