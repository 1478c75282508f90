// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/impair/scenario.h"
#include "config/toml/key_values.h"
#include "core/time.h"

namespace lw {
struct FigureTable;
}

namespace lw::impair {

/// The instant at which a change took effect, between two frames.
struct Effect {
  Instant at{};
  std::optional<Instant> zero;                  // arrival of the first frame, if one has arrived
  std::array<std::uint64_t, 2> first_frames{};  // by direction: number of the next received frame
};

/// A change of one key of the profile, or of a port's link, that took effect.
struct Change {
  Duration time{};                        // since 1970, by the clock of captures
  std::optional<Duration> since_first{};  // since the first frame arrived
  std::string by;  // `scenario "ramp"`, `control, user 1000`, `page, 192.0.2.1:40123`, `link watch`
  config::KeyChange what;  // the table "port" and the key "link" stand for a link: "up", "down"
  std::array<std::uint64_t, 2> first_frames{};  // see Effect

  static const FigureTable& figures();
};

/// Returns the changes of the links that go up or down.
std::vector<config::KeyChange> link_changes(const config::LinkChange& links);

/// Describes a change in one line, without its time: `long haul: delay "1ms" -> "2ms"`.
std::string change_text(const Change& change);

/// The changes of a run in the order in which they took effect, at most kMost; further ones are
/// counted. One thread, or under a lock of the caller.
class ChangeLog {
 public:
  static constexpr std::size_t kMost = 10'000;
  using Note = std::function<void(const Change&)>;

  /// `clock_offset_ns` converts Instants to the clock of captures. `note`, which may be empty, is
  /// called with each change, listed or not.
  explicit ChangeLog(std::int64_t clock_offset_ns = 0, Note note = {})
      : clock_offset_ns_(clock_offset_ns), note_(std::move(note)) {}

  /// Adds changes that took effect together.
  void add(const Effect& effect, const std::string& by, std::span<const config::KeyChange> changes);

  [[nodiscard]] const std::vector<Change>& changes() const noexcept { return changes_; }
  /// Number of changes beyond kMost.
  [[nodiscard]] std::uint64_t further() const noexcept { return further_; }

 private:
  std::int64_t clock_offset_ns_;
  Note note_;
  std::vector<Change> changes_;
  std::uint64_t further_ = 0;
};

}  // namespace lw::impair
