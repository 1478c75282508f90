// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/capture_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lw::impair {

emulator::LedgerRecord record_of(const emulator::Transit& transit, std::uint64_t number,
                                 emulator::Direction direction) noexcept {
  emulator::LedgerRecord record;
  record.number = number;
  record.in = transit.in();
  record.rule = transit.rule;
  record.direction = direction;
  record.acted = emulator::StageSet::of(transit.acted);
  record.stage = record.acted.last();
  if (record.stage == emulator::Stage::none && transit.queued)
    record.stage = emulator::Stage::delay;
  record.copy = static_cast<std::uint8_t>(transit.copy);
  record.disposition =
      transit.queued ? emulator::Disposition::delayed : emulator::Disposition::passed;
  record.aimed = transit.aimed;
  return record;
}

std::string comment_of(const emulator::LedgerRecord& record, const RuleNames& rules) {
  const auto& names = rules[static_cast<std::size_t>(record.direction)];
  std::string text = fmt::format("{}; frame {}", record.action(), record.number);
  if (record.copy > 0) text += fmt::format(", copy {}", record.copy);
  if (record.rule < names.size()) text += fmt::format("; rule {}", names[record.rule]);
  if (record.acted.several()) {
    text += fmt::format("; stages {}", fmt::join(names_of(record.acted), ", "));
  } else if (record.stage != emulator::Stage::none) {
    text += fmt::format("; stage {}", name_of(record.stage));
  }
  return text;
}

}  // namespace lw::impair
