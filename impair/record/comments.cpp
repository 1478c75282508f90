// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/comments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/wide_registers.h"

namespace lw::impair {
namespace {

std::string text_before(const emulator::LedgerRecord& record) {
  return fmt::format("{}; frame ", record.action());
}

std::string text_after(const emulator::LedgerRecord& record, const RuleNames& rules) {
  const auto& names = rules[static_cast<std::size_t>(record.direction)];
  std::string text;
  if (record.copy > 0) text += fmt::format(", copy {}", record.copy);
  if (record.rule < names.size()) text += fmt::format("; rule {}", names[record.rule]);
  if (record.acted.several()) {
    text += fmt::format("; stages {}", fmt::join(names_of(record.acted), ", "));
  } else if (record.stage != emulator::Stage::none) {
    text += fmt::format("; stage {}", name_of(record.stage));
  }
  return text;
}

}  // namespace

std::string comment_of(const emulator::LedgerRecord& record, const RuleNames& rules) {
  return text_before(record) + fmt::to_string(record.number) + text_after(record, rules);
}

void Comments::learn(RuleNames rules) {
  rules_ = std::move(rules);
  known_.fill({});
}

std::string_view Comments::of(const emulator::LedgerRecord& record) {
  // Everything that the text depends on but the number.
  const std::uint64_t one = std::uint64_t{record.rule} << 32 | record.acted.bits();
  const std::uint64_t two = std::uint64_t{record.copy} << 32 |
                            std::uint64_t{static_cast<std::uint8_t>(record.aimed)} << 24 |
                            std::uint64_t{static_cast<std::uint8_t>(record.disposition)} << 16 |
                            std::uint64_t{static_cast<std::uint8_t>(record.stage)} << 8 |
                            static_cast<std::uint8_t>(record.direction);
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // mixes the bits: 2^64 by the golden ratio
  Known& known = known_[((one ^ two * kOdd) * kOdd) >> 58];
  static_assert(kKnown == 1 << (64 - 58));
  if (known.key[0] != one || known.key[1] != two) [[unlikely]]
    known = {{one, two}, text_before(record), text_after(record, rules_)};
  const fmt::format_int number(record.number);
  text_.assign(known.before).append(number.data(), number.size()).append(known.after);
  end_wide_registers();
  return text_;
}

}  // namespace lw::impair
