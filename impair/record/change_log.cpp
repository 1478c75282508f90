// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/change_log.h"

#include <fmt/format.h>

#include "core/figure.h"

namespace lw::impair {

std::string change_text(const Change& change) {
  const config::KeyChange& what = change.what;
  const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
  const std::string place = what.table.empty()     ? ""
                            : what.table == "rule" ? what.name + ": "
                                                   : fmt::format("{} {}: ", what.table, what.name);
  return fmt::format("{}{} {} -> {}", place, what.key, shown(what.before), shown(what.after));
}

std::vector<config::KeyChange> link_changes(const config::LinkChange& links) {
  std::vector<config::KeyChange> changes;
  const char *const before = links.up ? "down" : "up", *const after = links.up ? "up" : "down";
  if (links.west) changes.push_back({"port", "west", "link", before, after});
  if (links.east) changes.push_back({"port", "east", "link", before, after});
  return changes;
}

void ChangeLog::add(const Effect& effect, const std::string& by,
                    std::span<const config::KeyChange> changes) {
  for (const config::KeyChange& what : changes) {
    Change change{.time = Duration{to_ns(effect.at) + clock_offset_ns_},
                  .by = by,
                  .what = what,
                  .first_frames = effect.first_frames};
    if (effect.zero) change.since_first = effect.at - *effect.zero;
    if (note_) note_(change);
    if (changes_.size() < kMost) {
      changes_.push_back(std::move(change));
    } else {
      ++further_;
    }
  }
}

const FigureTable& Change::figures() {
  using Row = FigureOf<Change>;
  static constexpr Figure kRows[] = {
      Row::of<&Change::time>("time_ns", "When it took effect, by the clock of captures.", Unit::ns),
      Row::of<&Change::since_first>("since_first_frame_ns",
                                    "The same, since the first frame arrived; null: none had.",
                                    Unit::ns)
          .or_null(),
      Row::of<&Change::by>("by", "The scenario's act, or the client and its address."),
      Row::of<[](const Change& change) -> const std::string& { return change.what.table; }>(
          "table", "rule, event, port; empty: a key of the profile's root."),
      Row::of<[](const Change& change) -> const std::string& { return change.what.name; }>(
          "name", "Name of the rule, event or port."),
      Row::of<[](const Change& change) -> const std::string& { return change.what.key; }>(
          "key", "The key; link of a port."),
      Row::of<[](const Change& change) -> const std::string& { return change.what.before; }>(
          "before", "Its value before, as TOML; empty: it had none."),
      Row::of<[](const Change& change) -> const std::string& { return change.what.after; }>(
          "after", "Its value from then on; empty: none."),
      Row::of<[](const Change& change) { return change.first_frames[0]; }>(
          "first_frame_west_to_east", "Number of the first frame that it applied to."),
      Row::of<[](const Change& change) { return change.first_frames[1]; }>(
          "first_frame_east_to_west", "Number of the first frame that it applied to.")};
  static constexpr FigureTable kTable{"A change during the run.", kRows};
  return kTable;
}

}  // namespace lw::impair
