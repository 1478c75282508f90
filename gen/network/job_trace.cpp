// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/job_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/limits.h"
#include "emulator/stage_keys.h"
#include "gen/limits.h"

namespace lw::gen {
namespace {

using emulator::at_line, emulator::CsvRow;
using sim::JobMessage, sim::Schedule;

constexpr std::array<std::string_view, 5> kColumns = {"rank", "start", "peer", "bytes",
                                                      "depends_on"};

/// A whole number from `least` to `most`; `what`: its column.
Parsed<std::uint32_t> number_of(std::string_view text, std::string_view what, std::uint64_t least,
                                std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most)
    return static_cast<std::uint32_t>(value);
  return std::unexpected(
      fmt::format("{}: expected {} to {}, found \"{}\"", what, least, most, text.substr(0, 40)));
}

Parsed<std::uint64_t> bytes_of(std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) return std::unexpected("bytes: " + bytes.error());
  if (*bytes == 0 || *bytes > kMostMessage)
    return std::unexpected(
        fmt::format("bytes: expected 1 B to 2 GiB, RDMA's longest message, found {} B", *bytes));
  return *bytes;
}

Parsed<Duration> start_of(std::string_view text) {
  const auto start = parse_duration(text);
  if (!start) return std::unexpected("start: " + start.error());
  if (*start > kLongestJobPart) return std::unexpected("start: expected at most 1h");
  return *start;
}

/// The rows, counted from 0, that a message of `from` waits for.
Parsed<std::vector<std::uint32_t>> dependencies_of(std::string_view text, std::uint32_t from,
                                                   const Schedule& before) {
  std::vector<std::uint32_t> after;
  for (const auto part : std::views::split(text, ' ')) {
    const std::string_view number(part);
    if (number.empty()) continue;
    if (before.empty())
      return std::unexpected("depends_on: expected none in the first row: there is no earlier one");
    const auto row = number_of(number, "depends_on", 1, before.size());
    if (!row) return std::unexpected(row.error() + ", the number of an earlier row");
    if (before[*row - 1].to != from)
      return std::unexpected(
          fmt::format("depends_on: expected rows that go to rank {}, found row {}, which goes to "
                      "rank {}",
                      from, *row, before[*row - 1].to));
    if (after.size() == kMostDependencies)
      return std::unexpected(
          fmt::format("depends_on: expected at most {} rows, found more", kMostDependencies));
    after.push_back(*row - 1);
  }
  return after;
}

Parsed<JobMessage> message_of(const CsvRow& row, std::size_t ranks, const Schedule& before) {
  if (row.fields.size() != kColumns.size())
    return std::unexpected(fmt::format("expected {} fields, {}, found {}", kColumns.size(),
                                       fmt::join(kColumns, ","), row.fields.size()));
  const auto from = number_of(row.fields[0], "rank", 0, ranks - 1);
  if (!from) return std::unexpected(from.error());
  const auto start = start_of(row.fields[1]);
  if (!start) return std::unexpected(start.error());
  const auto to = number_of(row.fields[2], "peer", 0, ranks - 1);
  if (!to) return std::unexpected(to.error());
  if (*from == *to)
    return std::unexpected(fmt::format("peer: expected another rank than {}", *from));
  const auto bytes = bytes_of(row.fields[3]);
  if (!bytes) return std::unexpected(bytes.error());
  auto after = dependencies_of(row.fields[4], *from, before);
  if (!after) return std::unexpected(after.error());
  return JobMessage{
      .from = *from, .to = *to, .bytes = *bytes, .after = std::move(*after), .start = *start};
}

}  // namespace

Parsed<Schedule> parse_job_trace(std::string_view csv, std::size_t ranks) {
  const auto rows = emulator::csv_rows(csv, sim::kMostTransfers);
  if (!rows) return std::unexpected(rows.error());
  if (rows->empty() || !std::ranges::equal(rows->front().fields, kColumns))
    return at_line(rows->empty() ? 1 : rows->front().line,
                   fmt::format("expected the heading {}", fmt::join(kColumns, ",")));
  if (rows->size() == 1) return at_line(rows->front().line, "expected rows, found only a heading");
  Schedule schedule;
  for (const CsvRow& row : *rows | std::views::drop(1)) {
    auto message = message_of(row, ranks, schedule);
    if (!message) return at_line(row.line, message.error());
    schedule.push_back(std::move(*message));
  }
  return schedule;
}

}  // namespace lw::gen
