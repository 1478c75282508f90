// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/expect.h"

#include <cmath>

#include <fmt/format.h>

namespace lw::config {
namespace {

struct Row {
  std::string_view key;
  Metric metric;
  bool is_time;
};

constexpr Row kRows[] = {
    {"loss", Metric::loss, false},
    {"duplicated", Metric::duplicated, false},
    {"out_of_order", Metric::out_of_order, false},
    {"bad_icrc", Metric::bad_icrc, false},
    {"ce_marks", Metric::ce_marks, false},
    {"not_sent", Metric::not_sent, false},
    {"rate_error", Metric::rate_error, false},
    {"latency_mean", Metric::latency_mean, true},
    {"p50", Metric::p50, true},
    {"p90", Metric::p90, true},
    {"p99", Metric::p99, true},
    {"p99_9", Metric::p99_9, true},
    {"p99_99", Metric::p99_99, true},
    {"latency_max", Metric::latency_max, true},
    {"jitter", Metric::jitter, true},
    {"pacing_p50", Metric::pacing_p50, true},
    {"pacing_p99", Metric::pacing_p99, true},
    {"pacing_max", Metric::pacing_max, true},
};

const Row& row_of(Metric metric) noexcept { return kRows[static_cast<std::size_t>(metric)]; }

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

Parsed<double> parse_limit(std::string_view text, bool time) {
  if (!time) return parse_probability(text);
  const auto duration = parse_duration(text);
  if (!duration) return std::unexpected(duration.error());
  return static_cast<double>(duration->count());
}

/// A limit with or without the sign that TOML has no place for.
Parsed<Bound> parse_bound(std::string_view text, const Row& row) {
  Bound bound{.metric = row.metric, .limit = 0, .strict = false, .text = {}};
  if (!take_prefix(text, "<=")) bound.strict = take_prefix(text, "<");
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto limit = parse_limit(text, row.is_time);
  if (!limit) return std::unexpected(limit.error());
  bound.limit = *limit;
  bound.text = fmt::format("{} {}", bound.strict ? "<" : "<=", value_text(row.metric, *limit));
  if (bound.strict && *limit <= 0) {
    return std::unexpected("expected a bound that can hold, found \"< 0\"");
  }
  return bound;
}

}  // namespace

std::string_view key_of(Metric metric) noexcept { return row_of(metric).key; }
bool is_time(Metric metric) noexcept { return row_of(metric).is_time; }

std::string value_text(Metric metric, double value) {
  if (is_time(metric)) return format_duration(Duration{std::llround(value)});
  return fmt::format("{:.6g} %", value * 100);
}

std::vector<Bound> read_expect(const Table& table) {
  std::vector<Bound> bounds;
  for (const Row& row : kRows) {
    const auto read = [&row](std::string_view text) { return parse_bound(text, row); };
    if (auto bound = table.get(row.key, read)) bounds.push_back(std::move(*bound));
  }
  table.finish();
  return bounds;
}

}  // namespace lw::config
