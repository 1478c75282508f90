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

namespace lw::dissect {

/// An entry of a roce-impair ledger: one frame, or a copy of it.
struct LedgerEntry {
  emulator::Direction direction{};
  std::uint64_t frame = 0;     // number among all frames received in its direction, from 0
  Instant in;                  // when it was received: ns since 1970
  std::optional<Instant> out;  // when it was sent; nothing if it was not
  std::uint32_t rule = 0;      // index into LedgerReader::rules()
  emulator::StageSet stages;   // that acted on it
  std::string action;     // of the last of these stages, or why it was not sent: "drop", "corrupt"
  std::uint8_t copy = 0;  // 0: the frame itself; 1.. a copy of it
  bool roce = false;      // RoCEv2: the next three members are valid
  std::uint8_t opcode = 0;
  std::uint32_t dest_qp = 0, psn = 0;

  /// Whether an event with an unknown action acted: a ledger has only the last action.
  [[nodiscard]] bool is_unknown_event() const noexcept {
    return stages.has(emulator::Stage::event) && stages.last() != emulator::Stage::event;
  }
  /// Whether a stage or an event corrupted the frame, or marked it.
  [[nodiscard]] bool corrupts() const noexcept;
  [[nodiscard]] bool marks() const noexcept;
  /// Whether a stage may have moved its release.
  [[nodiscard]] bool moves() const noexcept;
};

/// Reads a ledger as JSON Lines (docs/reference/ledger.md), a line at a time.
class LedgerReader {
 public:
  /// Parses the entry of one line; nothing for a change of the profile, which is no frame. Errors:
  /// not JSON; a key that is missing, has another type or an unknown value. The error says what was
  /// expected and what was found.
  Parsed<std::optional<LedgerEntry>> read(std::string_view line);

  /// The names of the rules seen so far. The first is empty: no rule.
  [[nodiscard]] const std::vector<std::string>& rules() const noexcept { return rules_; }

 private:
  std::uint32_t index_of(const std::string& rule);

  std::vector<std::string> rules_ = {""};
};

}  // namespace lw::dissect
