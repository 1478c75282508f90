// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/time.h"
#include "emulator/decision.h"
#include "emulator/direction.h"

namespace lw::analysis {

/// What a ledger of roce-impair's says of one frame, or of a copy of it.
struct LedgerEntry {
  emulator::Direction direction{};
  std::uint64_t frame = 0;     // number among all frames received in its direction, from 0
  Instant in;                  // when it was received: ns since 1970
  std::optional<Instant> out;  // when it was sent; nothing if it was not
  std::uint32_t rule = 0;      // index into LedgerReader::rules()
  emulator::StageSet stages;   // that acted on it
  std::string action;          // of the last of them, or why it was not sent: "drop", "corrupt"
  std::uint8_t copy = 0;       // 0: the frame itself; 1.. a copy of it
  bool roce = false;           // RoCEv2, so that the next three are there
  std::uint8_t opcode = 0;
  std::uint32_t dest_qp = 0, psn = 0;

  /// Whether an event acted that may have done anything: only the last action is in a ledger.
  [[nodiscard]] bool is_unknown_event() const noexcept {
    return stages.has(emulator::Stage::event) && stages.last() != emulator::Stage::event;
  }
  /// Whether a stage did this, or an event.
  [[nodiscard]] bool corrupts() const noexcept;
  [[nodiscard]] bool marks() const noexcept;
  /// Whether a stage may have moved its release.
  [[nodiscard]] bool moves() const noexcept;
};

/// Reads a ledger as JSON Lines (docs/reference/ledger.md), a line at a time.
class LedgerReader {
 public:
  /// The entry of one line. Errors: not JSON, or a key that is missing, of another type or with an
  /// unknown value: what was expected and what was found.
  Parsed<LedgerEntry> read(std::string_view line);

  /// The names of rules so far. The first is empty: no rule.
  [[nodiscard]] const std::vector<std::string>& rules() const noexcept { return rules_; }

 private:
  std::uint32_t index_of(const std::string& rule);

  std::vector<std::string> rules_ = {""};
};

}  // namespace lw::analysis
