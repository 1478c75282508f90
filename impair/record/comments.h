// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "emulator/ledger.h"
#include "impair/record/binary_ledger.h"

namespace lw::impair {

/// Returns a packet's comment: "drop; frame 171; rule long haul; stage loss".
std::string comment_of(const emulator::LedgerRecord& record, const RuleNames& rules);

/// The comments of a recording. Frames that had the same done to them have comments that differ
/// only in the number, so the rest is made once. One thread.
class Comments {
 public:
  explicit Comments(RuleNames rules) : rules_(std::move(rules)) {}

  /// Replaces the rule names after a live change.
  void learn(RuleNames rules);
  /// Same as comment_of(). Valid until the next call.
  std::string_view of(const emulator::LedgerRecord& record);

 private:
  struct Known {
    std::uint64_t key[2] = {~std::uint64_t{0}, ~std::uint64_t{0}};
    std::string before, after;  // the number
  };
  static constexpr std::size_t kKnown = 64;

  RuleNames rules_;
  std::array<Known, kKnown> known_;  // by hash; a newer one replaces an older one
  std::string text_;
};

}  // namespace lw::impair
