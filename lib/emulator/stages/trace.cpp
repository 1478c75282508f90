// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/trace.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "emulator/limits.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"

namespace lw::emulator {
namespace {

enum class Column : std::uint8_t { time, delay, loss, rate };
constexpr std::array<std::string_view, 4> kColumns = {"time", "delay", "loss", "rate"};

Parsed<std::vector<Column>> columns_of(const CsvRow& heading) {
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

Parsed<bool> read_field(TraceRow& row, Column column, std::string_view text) {
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

Parsed<TraceRow> read_trace_row(const CsvRow& row, const std::vector<Column>& columns) {
  if (row.fields.size() != columns.size())
    return at_line(row.line,
                   fmt::format("expected {} fields, found {}", columns.size(), row.fields.size()));
  TraceRow result;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (const auto field = read_field(result, columns[i], row.fields[i]); !field)
      return at_line(row.line, field.error());
  return result;
}

}  // namespace

Parsed<TraceConfig> parse_trace(std::string_view csv) {
  const auto all = csv_rows(csv, kMostRows + 1);  // and the heading
  if (!all) return std::unexpected(all.error());
  const std::vector<CsvRow>& rows = *all;
  if (rows.size() < 2)
    return std::unexpected("expected a heading, time,delay,loss,rate, and rows; found too few");
  const auto columns = columns_of(rows.front());
  if (!columns) return std::unexpected(columns.error());
  TraceConfig trace;
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

bool Trace::present(const RuleConfig& rule) noexcept { return rule.trace.has_value(); }

Trace::Trace(const RuleConfig& rule, const StageSetup& /*setup*/) : config_(*rule.trace) {}

void Trace::prepare(const RuleConfig& rule, Stats& stats) {
  stats.rows.resize(rule.trace->rows.size());
}

void Trace::inherit(Trace& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept {
  if (rule.trace == old_rule.trace) std::swap(*this, old);
}

void Trace::read(const StageKeys& rule, Settings& settings) {
  const auto table = rule.table(kName);
  if (!table) return;
  table->need("file", "a file of time,delay,loss,rate");
  auto trace = table->file<TraceConfig>("file", parse_trace);
  const auto period = table->get("period", parse_duration);
  table->finish();
  if (!trace) return;
  const auto has_rate = [](const TraceRow& row) { return row.rate_bps.has_value(); };
  if (std::ranges::any_of(trace->rows, has_rate) && !rule.has("queue"))
    table->refuse("expected a queue in this rule, whose rate the trace changes; found none");
  if (period && *period <= trace->rows.back().time)
    table->refuse("period", "expected more than the last row's time");
  trace->period = period;
  settings.trace = std::move(*trace);
}

void Trace::describe(const RuleConfig& rule, StageTexts& texts) {
  const TraceConfig& trace = *rule.trace;
  const std::string again =
      trace.period ? fmt::format(", again every {}", format_set_duration(*trace.period)) : "";
  texts.emplace_back(kName, fmt::format("{} rows over {}{}", trace.rows.size(),
                                        format_set_duration(trace.rows.back().time), again));
}

void Trace::add_floor(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  for (const TraceRow& row : rule.trace->rows) {
    ample.nominal_floor = std::max(ample.nominal_floor, row.delay.value_or(Duration{}));
    if (row.rate_bps && (ample.slowest_bps == 0 || *row.rate_bps < ample.slowest_bps))
      ample.slowest_bps = *row.rate_bps;
  }
}

}  // namespace lw::emulator
