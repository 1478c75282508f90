// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "config/impair/impair_stages.h"

namespace lw::config {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// A CSV's rows, comments and empty lines left out; each field without the space around it.
struct Row {
  std::size_t line = 0;
  std::vector<std::string_view> fields;
};

std::vector<Row> rows_of(std::string_view csv) {
  std::vector<Row> rows;
  for (std::size_t line = 1; !csv.empty(); ++line) {
    const std::size_t end = std::min(csv.find('\n'), csv.size());
    std::string_view text = trimmed(csv.substr(0, end));
    csv.remove_prefix(std::min(end + 1, csv.size()));
    if (text.empty() || text.front() == '#') continue;
    Row row{line, {}};
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

/// A heading says what its columns are, in words: what has a number anywhere is none.
bool is_heading(const Row& row) {
  return std::ranges::none_of(row.fields, [](std::string_view field) {
    return field.find_first_of("0123456789") != std::string_view::npos;
  });
}

Parsed<double> positive_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0) || value > 1e300)
    return std::unexpected(
        fmt::format("expected a weight above 0, 1e300 at most, found \"{}\"", text));
  return value;
}

enum class Column : std::uint8_t { time, delay, loss, rate };
constexpr std::array<std::string_view, 4> kColumns = {"time", "delay", "loss", "rate"};

Parsed<std::vector<Column>> columns_of(const Row& heading) {
  std::vector<Column> columns;
  for (const std::string_view name : heading.fields) {
    const auto found = std::ranges::find(kColumns, name);
    if (found == kColumns.end())
      return at_line(heading.line,
                     fmt::format("expected time, delay, loss or rate, found \"{}\"", name));
    const auto column = static_cast<Column>(found - kColumns.begin());
    if (std::ranges::find(columns, column) != columns.end())
      return at_line(heading.line, fmt::format("expected each column once, found {} again", name));
    columns.push_back(column);
  }
  if (columns.front() != Column::time)
    return at_line(heading.line, fmt::format("expected a heading that begins with time, found {}",
                                             heading.fields.front()));
  if (columns.size() < 2)
    return at_line(heading.line, "expected delay, loss or rate beside time, found none");
  return columns;
}

Parsed<bool> read_field(emulator::TraceConfig::Row& row, Column column, std::string_view text) {
  const auto put = [](auto& place, auto parsed) -> Parsed<bool> {
    if (!parsed) return std::unexpected(parsed.error());
    place = *parsed;
    return true;
  };
  if (column == Column::time) return put(row.time, parse_duration(text));
  if (text.empty()) return true;
  if (column == Column::delay) return put(row.delay, parse_duration(text));
  if (column == Column::loss) return put(row.loss, parse_probability(text));
  const auto rate = put(row.rate_bps, parse_bit_rate(text));
  if (rate && *row.rate_bps < 1e3)
    return std::unexpected(fmt::format("expected at least 1 kb/s, found \"{}\"", text));
  return rate;
}

Parsed<emulator::TraceConfig::Row> read_trace_row(const Row& row,
                                                  const std::vector<Column>& columns) {
  if (row.fields.size() != columns.size())
    return at_line(row.line,
                   fmt::format("expected {} fields, found {}", columns.size(), row.fields.size()));
  emulator::TraceConfig::Row result;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (const auto field = read_field(result, columns[i], row.fields[i]); !field)
      return at_line(row.line, field.error());
  return result;
}

}  // namespace

Parsed<emulator::BinnedDelay> parse_delay_histogram(std::string_view csv) {
  emulator::BinnedDelay delay;
  bool first = true;
  for (const Row& row : rows_of(csv)) {
    if (std::exchange(first, false) && is_heading(row)) continue;
    if (row.fields.size() != 3)
      return at_line(row.line,
                     fmt::format("expected low,high,weight, found {} fields", row.fields.size()));
    const auto low = parse_duration(row.fields[0]), high = parse_duration(row.fields[1]);
    const auto weight = positive_number(row.fields[2]);
    if (!low) return at_line(row.line, low.error());
    if (!high) return at_line(row.line, high.error());
    if (!weight) return at_line(row.line, weight.error());
    const emulator::BinnedDelay::Bin bin{static_cast<double>(low->count()),
                                         static_cast<double>(high->count()), *weight};
    if (bin.low > bin.high || (!delay.bins.empty() && bin.low < delay.bins.back().high))
      return at_line(row.line,
                     fmt::format("expected bins that rise and don't overlap, found {} to {}",
                                 row.fields[0], row.fields[1]));
    delay.bins.push_back(bin);
  }
  if (delay.bins.empty()) return std::unexpected("expected lines of low,high,weight, found none");
  return delay;
}

Parsed<emulator::BinnedDelay> parse_netem_distribution(std::string_view text, double mean_ns,
                                                       double deviation_ns) {
  constexpr double kScale = 8192;  // NETEM_DIST_SCALE
  emulator::BinnedDelay delay;
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    rest = trimmed(rest.substr(0, rest.find('#')));
    while (!rest.empty()) {
      int value = 0;
      const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      if (parsed.ec != std::errc{} || value < INT16_MIN || value > INT16_MAX)
        return at_line(line, fmt::format("expected whole numbers of 16 bits, found \"{}\"", rest));
      const double ns = mean_ns + deviation_ns * value / kScale;
      delay.bins.push_back({ns, ns, 1});
      rest = trimmed(rest.substr(static_cast<std::size_t>(parsed.ptr - rest.data())));
    }
  }
  if (delay.bins.empty()) return std::unexpected("expected whole numbers, found none");
  std::ranges::sort(delay.bins, {}, &emulator::BinnedDelay::Bin::low);
  return delay;
}

Parsed<emulator::TraceConfig> parse_trace(std::string_view csv) {
  const auto rows = rows_of(csv);
  if (rows.size() < 2)
    return std::unexpected("expected a heading, time,delay,loss,rate, and rows; found too few");
  const auto columns = columns_of(rows.front());
  if (!columns) return std::unexpected(columns.error());
  emulator::TraceConfig trace;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto row = read_trace_row(rows[i], *columns);
    if (!row) return std::unexpected(row.error());
    const bool in_place =
        trace.rows.empty() ? row->time.count() == 0 : row->time > trace.rows.back().time;
    if (!in_place)
      return at_line(rows[i].line, fmt::format("expected times that rise, the first of them 0, "
                                               "found \"{}\"",
                                               rows[i].fields.front()));
    trace.rows.push_back(*row);
  }
  return trace;
}

std::optional<emulator::TraceConfig> read_trace(const Table& rule,
                                                const std::filesystem::path& folder) {
  const auto table = rule.table("trace");
  if (!table) return std::nullopt;
  const auto file = table->require("file", read_text, "a file of time,delay,loss,rate");
  const auto period = table->get("period", parse_duration);
  table->finish();
  if (!file) return std::nullopt;
  const auto text = read_whole_file(folder / *file);
  auto trace = text ? parse_trace(*text) : std::unexpected(text.error());
  if (!trace) return table->refuse("file", *file + ": " + trace.error()), std::nullopt;
  const auto has_rate = [](const auto& row) { return row.rate_bps.has_value(); };
  if (std::ranges::any_of(trace->rows, has_rate) && !rule.has("queue"))
    table->refuse("expected a queue in this rule, whose rate the trace changes; found none");
  if (period && *period <= trace->rows.back().time)
    table->refuse("period", "expected more than the last row's time");
  trace->period = period;
  return *trace;
}

}  // namespace lw::config
