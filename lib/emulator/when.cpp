// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/when.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"

namespace lw::emulator {
namespace {

/// A time, or a number of frames.
struct Place {
  bool frames = false;
  std::int64_t count = 0;
};

Parsed<Place> parse_place(std::string_view text) {
  constexpr std::int64_t kMostFrames = 1'000'000'000'000;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) {
    if (number >= 0 && number <= kMostFrames) return Place{true, number};
    return std::unexpected(fmt::format("expected 0 to {} frames, found {}", kMostFrames, number));
  }
  const auto time = parse_duration(text);
  if (!time || *time < Duration{})
    return std::unexpected(fmt::format(
        "expected a time such as \"10ms\", or a whole number of frames, found \"{}\"", text));
  return Place{false, time->count()};
}

std::optional<When> read_when(const StageKeys& table) {
  const auto length = table.require("for", parse_place, "a time or frames, for = \"10ms\"");
  const auto period = table.get("every", parse_place), begin = table.get("from", parse_place);
  table.finish();
  if (!length) return std::nullopt;
  const When when{.by_frames = length->frames,
                  .begin = begin ? begin->count : 0,
                  .length = length->count,
                  .period = period ? period->count : 0};
  if ((period && period->frames != length->frames) || (begin && begin->frames != length->frames)) {
    table.refuse("expected for, every and from all as times, or all as numbers of frames");
  } else if (when.length == 0) {
    table.refuse("for", "expected more than 0");
  } else if (period && when.period <= when.length) {
    table.refuse("every", "expected more than `for`, or the stage always acts");
  }
  return when;
}

}  // namespace

bool Schedules::any() const noexcept {
  return std::ranges::any_of(of, [](const auto& when) { return when.has_value(); });
}

void read_schedules(const StageKeys& rule, RuleConfig& config) {
  if (!rule.has("when")) return;
  const auto table = rule.table("when");
  if (!table) return;
  Stages::for_each([&]<class S>() {
    if (!table->has(S::kName)) return;
    if constexpr (!S::kMayPause) {
      table->refuse(
          S::kName,
          "expected police, loss, corrupt, duplicate, limit, rewrite, mark, slot, delay or "
          "reorder: past this one a frame would overtake those that wait in it, or it has times "
          "of its own; [[at]] changes it at a time");
    } else {
      const auto keys = table->table(S::kName);
      if (!keys) return;
      if (!S::present(config) || !rule.has(S::kName))
        table->refuse(S::kName, fmt::format("expected {} in the rule too", S::kName));
      config.when.of[Stages::index_of<S>()] = read_when(*keys);
    }
  });
  table->finish();
}

std::string text_of(const When& when) {
  const auto place = [&](std::int64_t count) {
    return when.by_frames ? fmt::format("{} frame{}", count, count == 1 ? "" : "s")
                          : format_set_duration(Duration{count});
  };
  std::string text = "for " + place(when.length);
  if (when.period > 0) text += " of every " + place(when.period);
  if (when.begin == 0) return text;
  return text + (when.by_frames ? fmt::format(", from frame {} on", when.begin)
                                : fmt::format(", from {} after the first frame on",
                                              format_set_duration(Duration{when.begin})));
}

}  // namespace lw::emulator
