// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/queue.h"

#include <bit>
#include <string>

#include <fmt/format.h>

#include "core/figure.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {
namespace {

constexpr double kFastestLink = 1e14;

/// Reads the rate of the link that carries pause frames. Pause frames are repeated after half the
/// longest pause.
Parsed<double> read_link(std::string_view text) {
  const auto rate = read_rate(text);
  if (rate && *rate > kFastestLink)
    return std::unexpected(fmt::format("expected at most 100 Tb/s, found \"{}\"", text));
  return rate;
}

constexpr double kSmallestAlpha = 1.0 / 1024, kLargestAlpha = 1024;

Parsed<std::uint32_t> read_quantum(std::string_view text) {
  constexpr std::uint64_t kLeast = 64, kMost = 65536;  // see ClassScheduler
  const auto bytes = parse_bytes(text);
  if (!bytes) return std::unexpected(bytes.error());
  if (*bytes < kLeast || *bytes > kMost)
    return std::unexpected(fmt::format("expected {}..{} B, found {} B", kLeast, kMost, *bytes));
  return static_cast<std::uint32_t>(*bytes);
}

Parsed<std::uint32_t> read_cell(std::string_view text) {
  const auto bytes = read_overhead(text);
  if (bytes && *bytes == 0)
    return std::unexpected(fmt::format("expected at least 1 B, found \"{}\"", text));
  return bytes;
}

std::optional<PauseConfig::Thresholds> read_thresholds(const StageKeys& table,
                                                       std::uint64_t buffer) {
  if (!table.has("xoff") && !table.has("xon")) return std::nullopt;
  PauseConfig::Thresholds thresholds;
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

std::optional<PauseConfig> read_pfc(const StageKeys& queue, std::uint64_t buffer) {
  const auto table = queue.table("pfc");
  if (!table) return std::nullopt;
  PauseConfig pfc;
  pfc.priority =
      table->integer<std::uint8_t>("priority", 0, wire::kPriorities - 1).value_or(pfc.priority);
  pfc.emit = read_thresholds(*table, buffer);
  pfc.link_bps = table->get_or("link", read_link, pfc.link_bps);
  pfc.honour = table->boolean("honour").value_or(true);
  if (!pfc.honour && !pfc.emit)
    table->refuse("honour", "expected true, or xoff and xon; with neither it does nothing");
  table->finish();
  return pfc;
}

/// Returns the rate of the queue for frames under a row of the trace, in bit/s.
double rate_of(const RuleConfig& rule, std::uint32_t row) {
  const double rate_bps = rule.queue->rate_bps;
  return row == kNoRow ? rate_bps : rule.trace->rows[row].rate_bps.value_or(rate_bps);
}

/// Returns the time in ns that the link needs for frames that left directly after another frame.
double time_of_busy(const RuleConfig& rule, const RuleStats& stats) {
  double time = 0;
  std::uint64_t others = stats.queue.busy_bytes;  // of frames that came in under no row
  for (std::uint32_t i = 0; i < stats.rows.size(); ++i) {
    others -= stats.rows[i].busy_bytes;
    time += static_cast<double>(stats.rows[i].busy_bytes) * 8e9 / rate_of(rule, i);
  }
  return time + static_cast<double>(others) * 8e9 / rate_of(rule, kNoRow);
}

}  // namespace

std::string pause_text(const PauseConfig& pfc) {
  std::string text = fmt::format(", pauses of priority {}", pfc.priority);
  if (pfc.emit)
    text += fmt::format(" sent from {} on down to {}", amount(pfc.emit->xoff_bytes),
                        amount(pfc.emit->xon_bytes));
  if (pfc.honour) text += pfc.emit ? " and honoured" : " honoured";
  return text;
}

bool Queue::present(const RuleConfig& rule) noexcept { return rule.queue.has_value(); }

Queue::Queue(const RuleConfig& rule, const StageSetup& /*setup*/)
    : bottleneck_(*rule.queue),
      rate_bps_(rule.queue->rate_bps),
      cost_(rule.queue->cost()),
      pfc_(rule.queue->pfc) {
  if (pfc_ && pfc_->emit) watch_.emplace(*pfc_);
}

void Queue::inherit(Queue& old, const RuleConfig& rule, const RuleConfig& old_rule,
                    Instant now) noexcept {
  if (rule.queue == old_rule.queue && rule.trace == old_rule.trace) return std::swap(*this, old);
  const auto obeys = [](const RuleConfig& r) {
    return r.hears_pauses() ? &*r.queue->pfc : nullptr;
  };
  const bool same_trace = rule.trace == old_rule.trace;
  if (same_trace) {
    row_ = old.row_;
    row_bps_ = old.row_bps_;
  }
  bottleneck_.take_over(old.bottleneck_, now);
  if (!same_trace || rate_bps_ != old.rate_bps_ || cost_ != old.cost_) {
    const std::uint32_t leaving = bottleneck_.empty() ? kNoRow : bottleneck_.front().row;
    bottleneck_.change_rate(now, row_bps_.value_or(rate_bps_), row_, rate_of(old_rule, leaving));
  }
  const PauseConfig *after = obeys(rule), *before = obeys(old_rule);
  if (before && (!after || after->priority != before->priority)) bottleneck_.pause(now, now);
  if (pfc_ == old.pfc_) std::swap(watch_, old.watch_);
}

void Queue::pause(const wire::PfcFields& asked, Instant now, Stats& stats) noexcept {
  if (!pfc_ || !pfc_->honour || !asked.quanta[pfc_->priority]) return;
  const Instant until = now + time_of_quanta(*asked.quanta[pfc_->priority], rate_bps_);
  // Pauses don't add up: the latest one counts.
  stats.pauses.silent_ns += (until - std::max(now, bottleneck_.paused_until())).count();
  ++stats.pauses.heard;
  bottleneck_.pause(now, until);
}

std::optional<std::uint16_t> Queue::asks_for(Instant now) noexcept {
  return watch_ ? watch_->quanta_due(bottleneck_.occupancy(now), now) : std::nullopt;
}

namespace {

QueueClassConfig read_class(const StageKeys& table, std::uint64_t buffer,
                            std::optional<PauseConfig>& pfc) {
  QueueClassConfig read;
  read.order.priority =
      table.integer<std::uint32_t>("priority", 0, kMostQueueClasses - 1).value_or(0);
  read.order.weight = table.integer<std::uint32_t>("weight", 1, kLargestWeight).value_or(1);
  read.buffer.reserve_bytes = table.get_or("reserve", read_buffer, std::uint64_t{0});
  read.buffer.limit_bytes = table.get_or("limit", read_buffer, read.buffer.limit_bytes);
  read.buffer.alpha =
      table.number("alpha", kSmallestAlpha, kLargestAlpha).value_or(read.buffer.alpha);
  if (read.buffer.limit_bytes < read.buffer.reserve_bytes)
    table.refuse("limit", fmt::format("expected at least reserve, {} B, found {} B",
                                      read.buffer.reserve_bytes, read.buffer.limit_bytes));
  pfc = read_pfc(table, buffer);
  table.finish();
  return read;
}

/// Reads the tables `0`, `1` and so on.
void read_classes(const StageKeys& queue, std::uint64_t buffer, QueueUse& use) {
  const auto table = queue.table("classes");
  if (!table) return;
  std::uint64_t reserved = 0;
  for (std::size_t number = 0; number < kMostQueueClasses; ++number) {
    const auto one = table->table(std::to_string(number));
    if (!one) continue;
    if (number != use.queue.classes.size()) {
      one->refuse(fmt::format("expected the classes from 0 on without gaps, found {} without {}",
                              number, use.queue.classes.size()));
      return;
    }
    use.queue.classes.push_back(read_class(*one, buffer, use.pauses.emplace_back()));
    reserved += use.queue.classes.back().buffer.reserve_bytes;
  }
  if (reserved > buffer)
    table->refuse(fmt::format("expected reserves of at most the buffer, {} B, in all, found {} B",
                              buffer, reserved));
  if (use.queue.classes.empty())
    table->refuse("expected classes by their numbers, { 0 = { priority = 1 }, 1 = {} }");
  table->finish();
}

/// Reads a rule's use of the queue of another rule.
void read_use(const StageKeys& table, QueueUse& use) {
  use.owner = table.text("shared").value_or("");
  use.cls = table.integer<std::uint32_t>("class", 0, kMostQueueClasses - 1).value_or(0);
  table.finish();
}

}  // namespace

void Queue::read(const StageKeys& rule, RuleConfig& config) {
  if (rule.has(kName) && !rule.is_table(kName)) {
    if (const auto rate = rule.get(kName, read_rate)) config.queue = {.rate_bps = *rate};
    return;
  }
  const auto table = rule.table(kName);
  if (!table) return;
  if (table->has("shared")) return read_use(*table, config.shared.emplace());
  BottleneckConfig& queue = config.queue.emplace();
  queue.rate_bps =
      table->require("rate", read_rate, "the link's rate, \"10Gb/s\"").value_or(kSlowestRate);
  queue.buffer_bytes =
      table->require("buffer", read_buffer, "how many bytes may wait, \"16MB\"").value_or(1);
  queue.overhead = table->get_or("overhead", read_overhead, queue.overhead);
  queue.cell = table->get_or("cell", read_cell, queue.cell);
  queue.cell_overhead = table->get_or("cell_overhead", read_overhead, queue.cell_overhead);
  if (table->has("cell_overhead") && !table->has("cell"))
    table->refuse("cell_overhead", "expected beside cell = \"48B\"");
  queue.pfc = read_pfc(*table, queue.buffer_bytes);
  if (table->has("classes")) {
    QueueUse& use = config.shared.emplace();
    read_classes(*table, queue.buffer_bytes, use);
    use.queue.quantum_bytes = table->get_or("quantum", read_quantum, use.queue.quantum_bytes);
    use.cls = table->integer<std::uint32_t>("class", 0, kMostQueueClasses - 1).value_or(0);
    if (queue.pfc)
      table->refuse("pfc", "expected pfc in the classes, beside classes, found it in the queue");
  }
  table->finish();
}

void Queue::describe(const RuleConfig& rule, StageTexts& texts) {
  const BottleneckConfig& queue = *rule.queue;
  const std::string cells = queue.cell == 0 ? ""
                                            : fmt::format(", in cells of {} B and {} B besides",
                                                          queue.cell, queue.cell_overhead);
  texts.emplace_back(kName,
                     fmt::format("{}, buffer {}, {} B a frame beside its own{}{}",
                                 format_bit_rate(queue.rate_bps), amount(queue.buffer_bytes),
                                 queue.overhead, cells, queue.pfc ? pause_text(*queue.pfc) : ""));
}

void audit_busy(const QueueStats& seen, double asked_ns, std::vector<Check>& checks) {
  // Departures are rounded to ns, so the length of each busy period has an error of at most 2 ns.
  const double slack = 2 * static_cast<double>(seen.busy_periods);
  const auto busy = static_cast<double>(seen.busy_ns);
  const double bits = static_cast<double>(seen.busy_bytes) * 8e9;
  if (seen.busy_ns > 0 && busy > slack)
    checks.push_back({Queue::kNumber, "rate while busy", seen.busy_frames, bits / asked_ns,
                      bits / busy, bits / (asked_ns + slack),
                      bits / std::max(1.0, asked_ns - slack), CheckUnit::bits_per_second, bits});
}

/// Checks that frames directly after each other leave at the link's rate, and that the buffer never
/// holds more than its size.
void Queue::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  const QueueStats& seen = stats.queue;
  if (seen.frames == 0) return;
  audit_busy(seen, time_of_busy(rule, stats), checks);
  const auto buffer = static_cast<double>(rule.queue->buffer_bytes);
  checks.push_back({kNumber, "fullest buffer", seen.frames, buffer,
                    static_cast<double>(stats.peak_queue_bytes), 0, buffer, CheckUnit::bytes});
}

const FigureTable& PauseStats::figures() {
  using Row = FigureOf<PauseStats>;
  static constexpr Figure kRows[] = {
      Row::of<&PauseStats::asked>("asked", "Pause frames sent to the sender.", Unit::frames),
      Row::of<&PauseStats::ended>("ended", "Pauses ended by a frame with time 0.", Unit::frames),
      Row::of<&PauseStats::heard>("heard", "Pause frames received.", Unit::frames),
      Row::of<&PauseStats::silent_ns>("silent_ns", "Time that the queue was paused.", Unit::ns)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& Queue::Stats::figures() {
  using Row = FigureOf<Queue::Stats>;
  static constexpr Figure kRows[] = {
      Row::of<&Stats::tail_dropped>("tail_dropped", "Frames dropped because the queue was full.",
                                    Unit::frames),
      Row::of<&Stats::peak_queue_bytes>("peak_bytes", "Most bytes in the queue.", Unit::bytes)
          .as_gauge()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& Queue::figures() {
  using Row = FigureOf<RuleStats>;
  static constexpr Figure kRows[] = {
      Row::of<[](const RuleStats& stats) -> const Queue::Stats& { return stats; }>(
          "queue", "The queue stage."),
      Row::of<[](const RuleStats& stats) {
        return stats.pauses == PauseStats{} ? nullptr : &stats.pauses;
      }>("pauses", "Pause frames of the queue stage.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

void Queue::report(const RuleStats& stats, StageLines& lines) {
  lines.line(stats.tail_dropped, "found the queue full");
  const PauseStats& pauses = stats.pauses;
  lines.line(pauses.asked, "pause frames asked for silence");
  lines.line(pauses.ended, "pause frames ended it");
  lines.line(pauses.heard,
             "pause frames heard, silent for " + format_duration(Duration{pauses.silent_ns}));
}

std::uint64_t Queue::bytes_needed(const RuleConfig& rule) noexcept {
  constexpr std::uint64_t kWaiting = 16;  // of a link, for each frame in the queue
  return Bottleneck::bytes_needed(*rule.queue) +
         std::bit_ceil(Bottleneck::most_inside(*rule.queue)) * kWaiting;
}

/// Adds the time that a full buffer needs to drain at the slowest rate.
void Queue::add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  double rate = rule.queue->rate_bps;
  if (ample.slowest_bps > 0) rate = std::min(rate, ample.slowest_bps);
  ample.total += Duration{
      static_cast<Duration::rep>(static_cast<double>(rule.queue->buffer_bytes) * 8e9 / rate)};
}

}  // namespace lw::emulator
