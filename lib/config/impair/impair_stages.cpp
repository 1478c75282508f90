// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/impair_stages.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace lw::config {
namespace {

using emulator::CorruptConfig;
using emulator::NotEct;

constexpr double kSlowestRate = 1e3;
constexpr double kFastestLink = 1e14;
constexpr std::uint64_t kLargestBuffer = std::uint64_t{4} << 30;

constexpr Choice<CorruptConfig::Part> kParts[] = {{"packet", CorruptConfig::Part::packet},
                                                  {"frame", CorruptConfig::Part::frame}};
constexpr Choice<bool> kIcrcs[] = {{"wrong", false}, {"recomputed", true}};
constexpr Choice<NotEct> kNotEct[] = {{"pass", NotEct::pass}, {"drop", NotEct::drop}};
constexpr Choice<bool> kOrders[] = {{"kept", true}, {"free", false}};

Parsed<double> read_rate(std::string_view text) {
  const auto rate = parse_bit_rate(text);
  if (rate && *rate < kSlowestRate)
    return std::unexpected(fmt::format("expected at least 1 kb/s, found \"{}\"", text));
  return rate;
}

/// Of a link that pause frames go out by: half of the longest pause is when they are sent again.
Parsed<double> read_link(std::string_view text) {
  const auto rate = read_rate(text);
  if (rate && *rate > kFastestLink)
    return std::unexpected(fmt::format("expected at most 100 Tb/s, found \"{}\"", text));
  return rate;
}

Parsed<std::uint64_t> read_buffer(std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (bytes && (*bytes == 0 || *bytes > kLargestBuffer))
    return std::unexpected(fmt::format("expected 1 B to 4 GiB, found \"{}\"", text));
  return bytes;
}

Parsed<std::uint32_t> read_overhead(std::string_view text) {
  constexpr std::uint64_t kMost = 1024;
  const auto bytes = parse_bytes(text);
  if (!bytes) return std::unexpected(bytes.error());
  if (*bytes > kMost)
    return std::unexpected(fmt::format("expected 0 B to {} B a frame, found \"{}\"", kMost, text));
  return static_cast<std::uint32_t>(*bytes);
}

std::optional<emulator::PoliceConfig> read_police(const Table& rule) {
  const auto table = rule.table("police");
  if (!table) return std::nullopt;
  emulator::PoliceConfig police;
  police.rate_bps = table->require("rate", read_rate, "a rate, \"10Gb/s\"").value_or(kSlowestRate);
  police.burst_bytes =
      table->require("burst", read_buffer, "what may come at once, \"1MB\"").value_or(1);
  police.overhead = table->get_or("overhead", read_overhead, police.overhead);
  const std::uint64_t cheapest = emulator::on_the_line(0, police.overhead);
  if (table->has("burst") && police.burst_bytes < cheapest)
    table->refuse("burst", fmt::format("expected at least the {} B that the smallest frame costs, "
                                       "or none ever passes; found {} B",
                                       cheapest, police.burst_bytes));
  table->finish();
  return police;
}

std::optional<CorruptConfig> read_corrupt(const Table& rule) {
  if (!rule.has("corrupt")) return std::nullopt;
  CorruptConfig corrupt;
  if (!rule.get("corrupt", is_table).value_or(false)) {
    corrupt.probability = rule.get_or("corrupt", parse_probability, 0.0);
    return corrupt;
  }
  const auto table = rule.table("corrupt");
  corrupt.probability =
      table->require("probability", parse_probability, "a share of the frames, \"0.1%\"")
          .value_or(0);
  corrupt.bits =
      table->get_or("bits", integer<std::uint32_t>(1, emulator::Corrupter::kMostBits), 1);
  corrupt.part = table->get_or("part", choice(kParts), corrupt.part);
  corrupt.offset = table->get("offset", integer<std::uint32_t>(0, 65535));
  corrupt.recompute_icrc = table->get_or("icrc", choice(kIcrcs), false);
  table->finish();
  return corrupt;
}

std::optional<emulator::DuplicateConfig> read_duplicate(const Table& rule) {
  if (!rule.has("duplicate")) return std::nullopt;
  emulator::DuplicateConfig duplicate;
  if (!rule.get("duplicate", is_table).value_or(false)) {
    duplicate.probability = rule.get_or("duplicate", parse_probability, 0.0);
    return duplicate;
  }
  const auto table = rule.table("duplicate");
  duplicate.probability =
      table->require("probability", parse_probability, "a share of the frames, \"0.1%\"")
          .value_or(0);
  duplicate.copies = table->get_or(
      "copies", integer<std::uint8_t>(1, emulator::Duplicator::kMostCopies), std::uint8_t{1});
  table->finish();
  return duplicate;
}

std::optional<emulator::Red> read_red(const Table& table, bool has_queue) {
  if (!table.has("kmin") && !table.has("kmax") && !table.has("pmax")) return std::nullopt;
  if (!has_queue) table.refuse("expected a queue in this rule, by which to mark; found none");
  emulator::Red red;
  red.kmin_bytes = table.require("kmin", parse_bytes, "bytes in the queue, \"150kB\"").value_or(0);
  red.kmax_bytes =
      table.require("kmax", parse_bytes, "bytes in the queue, \"1.5MB\"").value_or(red.kmin_bytes);
  red.pmax = table.get_or("pmax", parse_probability, 1.0);
  if (red.kmin_bytes > red.kmax_bytes)
    table.refuse("kmin", fmt::format("expected at most kmax, {} B, found {} B", red.kmax_bytes,
                                     red.kmin_bytes));
  return red;
}

std::optional<emulator::MarkConfig> read_mark(const Table& rule) {
  if (!rule.has("mark")) return std::nullopt;
  emulator::MarkConfig mark;
  if (!rule.get("mark", is_table).value_or(false)) {
    mark.probability = rule.get_or("mark", parse_probability, 0.0);
    return mark;
  }
  const auto table = rule.table("mark");
  mark.probability = table->get_or("probability", parse_probability, 0.0);
  mark.red = read_red(*table, rule.has("queue"));
  if (!table->has("probability") && !mark.red)
    table->refuse("expected a probability, or kmin and kmax; found neither");
  mark.not_ect = table->get_or("not_ect", choice(kNotEct), mark.not_ect);
  if (mark.not_ect == NotEct::drop && !mark.red)
    table->refuse("not_ect", "expected kmin and kmax beside \"drop\", which is RED's; found none");
  mark.force = table->get_or("force", read_boolean, false);
  table->finish();
  return mark;
}

std::optional<emulator::PauseConfig::Thresholds> read_thresholds(const Table& table,
                                                                 std::uint64_t buffer) {
  if (!table.has("xoff") && !table.has("xon")) return std::nullopt;
  emulator::PauseConfig::Thresholds thresholds;
  thresholds.xoff_bytes =
      table.require("xoff", read_buffer, "bytes in the queue, \"600kB\"").value_or(buffer);
  thresholds.xon_bytes =
      table.require("xon", parse_bytes, "bytes in the queue, \"400kB\"").value_or(0);
  if (thresholds.xoff_bytes > buffer)
    table.refuse("xoff", fmt::format("expected at most the buffer, {} B, or it is never reached; "
                                     "found {} B",
                                     buffer, thresholds.xoff_bytes));
  if (thresholds.xon_bytes >= thresholds.xoff_bytes)
    table.refuse("xon", fmt::format("expected less than xoff, {} B, found {} B",
                                    thresholds.xoff_bytes, thresholds.xon_bytes));
  return thresholds;
}

std::optional<emulator::PauseConfig> read_pfc(const Table& queue, std::uint64_t buffer) {
  const auto table = queue.table("pfc");
  if (!table) return std::nullopt;
  emulator::PauseConfig pfc;
  pfc.priority =
      table->get_or("priority", integer<std::uint8_t>(0, wire::kPriorities - 1), pfc.priority);
  pfc.emit = read_thresholds(*table, buffer);
  pfc.link_bps = table->get_or("link", read_link, pfc.link_bps);
  pfc.honour = table->get_or("honour", read_boolean, true);
  if (!pfc.honour && !pfc.emit)
    table->refuse("honour", "expected true, or xoff and xon; with neither it does nothing");
  table->finish();
  return pfc;
}

std::optional<emulator::BottleneckConfig> read_queue(const Table& rule) {
  const auto table = rule.table("queue");
  if (!table) return std::nullopt;
  emulator::BottleneckConfig queue;
  queue.rate_bps =
      table->require("rate", read_rate, "the link's rate, \"10Gb/s\"").value_or(kSlowestRate);
  queue.buffer_bytes =
      table->require("buffer", read_buffer, "how many bytes may wait, \"16MB\"").value_or(1);
  queue.overhead = table->get_or("overhead", read_overhead, queue.overhead);
  queue.pfc = read_pfc(*table, queue.buffer_bytes);
  table->finish();
  return queue;
}

Parsed<Duration> read_some_time(std::string_view text) {
  const auto time = parse_duration(text);
  if (time && time->count() <= 0)
    return std::unexpected(fmt::format("expected more than 0, found \"{}\"", text));
  return time;
}

std::optional<emulator::ReorderConfig> read_reorder(const Table& rule) {
  const auto table = rule.table("reorder");
  if (!table) return std::nullopt;
  emulator::ReorderConfig reorder;
  reorder.fraction =
      table->require("fraction", parse_probability, "a share of the frames, \"1%\"").value_or(0);
  reorder.swap = table->get_or("swap", read_boolean, false);
  reorder.frames = table->get_or(
      "frames", integer<std::uint32_t>(1, emulator::ReorderConfig::kMostOvertaking), 0U);
  reorder.by = table->get_or("time", read_some_time, Duration{});
  const int ways = int{reorder.swap} + int{table->has("frames")} + int{table->has("time")};
  if (ways != 1)
    table->refuse("expected one of frames = 3, time = \"10us\" and swap = true, found " +
                  std::to_string(ways));
  if (reorder.swap) reorder.frames = 1;
  reorder.at_most = table->get_or("at_most", read_some_time, reorder.at_most);
  if (table->has("at_most") && table->has("time"))
    table->refuse("at_most", "expected beside frames or swap, found beside time, which says it");
  table->finish();
  return reorder;
}

}  // namespace

Parsed<bool> is_table(const Value& value) { return std::holds_alternative<Entries>(value.data); }

Parsed<std::string> read_whole_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return std::unexpected(fmt::format("expected a file, found none at {}", file.string()));
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return std::unexpected(fmt::format("expected a file that can be read: {}", file.string()));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // spreadsheets begin UTF-8 with it
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

void read_stages(const Table& rule, const std::filesystem::path& folder,
                 emulator::RuleConfig& config) {
  config.police = read_police(rule);
  config.loss = read_loss(rule, folder);
  config.corrupt = read_corrupt(rule);
  config.duplicate = read_duplicate(rule);
  config.mark = read_mark(rule);
  config.queue = read_queue(rule);
  config.jitter = read_jitter(rule, folder);
  config.trace = read_trace(rule, folder);
  config.keep_order = rule.get_or("order", choice(kOrders), true);
  config.reorder = read_reorder(rule);
  // What waits in the queue is put off, and nothing of its release may hang on anything else.
  if (config.hears_pauses() &&
      (config.jitter || config.trace || config.reorder || !config.keep_order))
    rule.refuse("queue",
                "expected no jitter, trace, reorder or free order beside a pfc that honours "
                "pauses (honour = false does without)");
  if (!config.keep_order && !config.varies() && !rule.has("delay"))
    rule.refuse("order",
                "expected a delay, a jitter, a trace or a queue to make a difference, found none");
}

}  // namespace lw::config
