// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stage_keys.h"

#include <algorithm>

#include <fmt/format.h>

#include "emulator/random/correlated_draw.h"

namespace lw::emulator {
Parsed<double> read_rate(std::string_view text) {
  const auto rate = parse_bit_rate(text);
  if (rate && *rate < kSlowestRate)
    return std::unexpected(fmt::format("expected at least 1 kb/s, found \"{}\"", text));
  return rate;
}

Parsed<double> read_correlation(std::string_view text) {
  const auto share = parse_probability(text);
  if (share && *share > CorrelatedDraw::kMost)
    return std::unexpected(
        fmt::format("expected at most {:g} %, found \"{}\"", CorrelatedDraw::kMost * 100, text));
  return share;
}

Parsed<Duration> read_positive_time(std::string_view text) {
  const auto time = parse_duration(text);
  if (time && time->count() <= 0)
    return std::unexpected(fmt::format("expected more than 0, found \"{}\"", text));
  return time;
}

std::string percent(double probability) { return fmt::format("{:.10g} %", probability * 100); }
std::string correlation_text(double correlation) {
  return correlation == 0 ? std::string() : ", correlation " + percent(correlation);
}

std::string amount(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Parsed<std::vector<CsvRow>> csv_rows(std::string_view csv, std::size_t most) {
  std::vector<CsvRow> rows;
  for (std::size_t line = 1; !csv.empty(); ++line) {
    const std::size_t end = std::min(csv.find('\n'), csv.size());
    std::string_view text = trimmed(csv.substr(0, end));
    csv.remove_prefix(std::min(end + 1, csv.size()));
    if (text.empty() || text.front() == '#') continue;
    if (rows.size() == most)
      return at_line(line, fmt::format("expected at most {} rows, found more", most));
    CsvRow row{line, {}};
    while (true) {
      const std::size_t comma = text.find(',');
      row.fields.push_back(trimmed(text.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::unexpected<std::string> at_line(std::size_t line, std::string_view what) {
  return std::unexpected(fmt::format("line {}: {}", line, what));
}

}  // namespace lw::emulator
