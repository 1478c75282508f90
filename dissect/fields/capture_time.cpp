// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/capture_time.h"

#include <charconv>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

namespace lw::dissect {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::string seconds_text(Duration since) {
  const std::int64_t ns = since.count();
  return fmt::format("{}{}.{:09}", ns < 0 ? "-" : "", std::abs(ns / kNsPerSecond),
                     std::abs(ns % kNsPerSecond));
}

/// Takes a number of so many digits from the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc{} || end != text.data() + digits || value < 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take_one(std::string_view& text, std::string_view of) {
  if (text.empty() || of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// ".5" in ns; 0 without a fraction; nothing: no digits, or more than nine.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!take_one(text, ".")) return 0;
  std::int64_t ns = 0;
  std::size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9' && digits < 9; ++digits) {
    ns = 10 * ns + (text.front() - '0');
    text.remove_prefix(1);
  }
  for (std::size_t i = digits; i < 9; ++i) ns *= 10;
  return digits == 0 ? std::nullopt : std::optional(ns);
}

std::optional<Instant> parse_utc(std::string_view text) {
  using namespace std::chrono;
  const auto year_number = take_digits(text, 4);
  if (!year_number || !take_one(text, "-")) return std::nullopt;
  const auto month_number = take_digits(text, 2);
  if (!month_number || !take_one(text, "-")) return std::nullopt;
  const auto day_number = take_digits(text, 2);
  if (!day_number || !take_one(text, "T ")) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take_one(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute) return std::nullopt;
  const auto second = take_one(text, ":") ? take_digits(text, 2) : std::optional(0);
  const auto fraction = take_fraction(text);
  const year_month_day date{year{*year_number} / *month_number / *day_number};
  const bool is_time = *hour < 24 && *minute < 60 && second && *second < 60 && fraction;
  // Nanoseconds since 1970 end in 2262.
  const bool fits = date.ok() && *year_number >= 1970 && *year_number < 2262;
  if (!is_time || !fits || !(text.empty() || text == "Z")) return std::nullopt;
  const auto since_1970 = sys_days{date}.time_since_epoch() + hours{*hour} + minutes{*minute} +
                          seconds{*second} + nanoseconds{*fraction};
  return instant_from_ns(duration_cast<nanoseconds>(since_1970).count());
}

}  // namespace

std::string utc_text(Instant stamp) {
  using namespace std::chrono;
  const std::int64_t ns = to_ns(stamp);
  const std::int64_t fraction = (ns % kNsPerSecond + kNsPerSecond) % kNsPerSecond;
  const sys_seconds second{seconds{ns / kNsPerSecond - (ns % kNsPerSecond < 0 ? 1 : 0)}};
  const auto day = floor<days>(second);
  const year_month_day date{day};
  const hh_mm_ss time{second - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     fraction);
}

std::string RowTimes::text(Instant stamp) {
  if (style_ == TimeStyle::utc) return utc_text(stamp);
  if (!before_) before_ = stamp;
  const Duration since = stamp_difference(stamp, *before_);
  if (style_ == TimeStyle::delta) before_ = stamp;
  return seconds_text(since);
}

std::string moment_text(TimeStyle style, Instant stamp, Instant begin) {
  if (style == TimeStyle::utc) return utc_text(stamp);
  const Duration since = stamp_difference(stamp, begin);
  return fmt::format("{:.6f} s", static_cast<double>(since.count()) / 1e9);
}

Instant WindowEnd::moment(Instant begin) const noexcept {
  if (at) return *at;
  return instant_from_ns(stamp_difference(to_ns(begin), -since_begin->count()));
}

Parsed<WindowEnd> parse_window_end(std::string_view text) {
  WindowEnd end{.text = std::string(text)};
  if (const auto since = parse_duration(text)) {
    end.since_begin = *since;
    return end;
  }
  end.at = parse_utc(text);
  if (end.at) return end;
  return std::unexpected(
      fmt::format("expected a time since the first frame, such as 9.95s, or in UTC, such as "
                  "2026-11-23T14:31:50.5Z, found \"{}\"",
                  text));
}

TimeWindow TimeWindow::absolute(Instant begin) const {
  TimeWindow window = *this;
  window.first_stamp = begin;
  for (auto* const end : {&window.from, &window.to})
    if (*end) (*end)->at = (*end)->moment(begin);
  return window;
}

}  // namespace lw::dissect
