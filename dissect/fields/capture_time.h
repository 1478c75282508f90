// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "core/time.h"

namespace lw::dissect {

/// Time in a row of text: since the begin, in UTC, or since the row before.
enum class TimeStyle : std::uint8_t { relative, utc, delta };

/// "2026-11-23T14:31:50.123456789Z".
std::string utc_text(Instant stamp);

/// The times of the rows of a text.
class RowTimes {
 public:
  /// `begin`: of relative times; nothing: the first row's time.
  explicit RowTimes(TimeStyle style, std::optional<Instant> begin = {})
      : style_(style), before_(begin) {}

  /// "0.000001000", negative before the begin; "2026-11-23T14:31:50.123456789Z".
  std::string text(Instant stamp);

 private:
  TimeStyle style_;
  std::optional<Instant> before_;
};

/// A moment of a sentence: "10.000000 s" since the begin, or in UTC.
std::string moment_text(TimeStyle style, Instant stamp, Instant begin);

/// An end of a window in time, as it was typed: since the first frame ("9.95s"), or in UTC.
struct WindowEnd {
  std::string text;
  std::optional<Duration> since_begin = {};
  std::optional<Instant> at = {};

  [[nodiscard]] Instant moment(Instant begin) const noexcept;
};
/// Parses "9.95s" or "2026-11-23T14:31:50.5Z"; without Z it is UTC too, and T may be a space.
Parsed<WindowEnd> parse_window_end(std::string_view text);

class Condition;

/// The frames that a command reads: from one moment on, up to another one, both included, and those
/// that satisfy a condition.
struct TimeWindow {
  std::optional<WindowEnd> from = {}, to = {};
  std::shared_ptr<const Condition> where = {};  // null: none
  /// Of the first frame, to which times of `where` are relative; nothing: the reader's own.
  std::optional<Instant> first_stamp = {};

  [[nodiscard]] bool is_bounded() const noexcept { return from || to || where; }
  /// `begin`: the stamp of the first frame.
  [[nodiscard]] bool has(Instant stamp, Instant begin) const noexcept {
    return (!from || stamp >= from->moment(begin)) && (!to || stamp <= to->moment(begin));
  }
  /// The same window, without reference to a first frame, whose stamp is `begin`.
  [[nodiscard]] TimeWindow absolute(Instant begin) const;
};

}  // namespace lw::dissect
