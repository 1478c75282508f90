// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/queue.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "core/setting.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {
namespace {

constexpr double kFastestLink = 1e14;

constexpr double kSmallestAlpha = 1.0 / 1024, kLargestAlpha = 1024;

}  // namespace

const FigureTable& QueueConfig::figures() {
  using Row = FigureOf<QueueConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&QueueConfig::rate_bps>("rate", "Rate of the link.", Unit::bits_per_second)
          .from(kSlowestRate, kHighestRate),
      Row::of<&QueueConfig::buffer_bytes>("buffer", "Bytes of frames that may wait.", Unit::bytes)
          .from(1, kLargestBuffer),
      Row::of<&QueueConfig::overhead>(
          "overhead", "What a frame takes on the link besides its bytes.", Unit::bytes)
          .from(0, kMostOverhead),
      Row::of<&QueueConfig::cell>("cell", "Bytes that a cell carries; without it, no cells.",
                                  Unit::bytes)
          .from(1, kMostOverhead)
          .if_any(),
      Row::of<&QueueConfig::cell_overhead>("cell_overhead", "Bytes of a cell besides.", Unit::bytes)
          .from(0, kMostOverhead),
      Row::of<&QueueConfig::pfc>("pfc", "Priority flow control.")};
  static constexpr FigureTable kTable{"A link slower than the port, and its buffer.", kRows};
  return kTable;
}

const FigureTable& PauseThresholds::figures() {
  using Row = FigureOf<PauseThresholds>;
  static constexpr Figure kRows[] = {
      Row::of<&PauseThresholds::xoff_bytes>("xoff", "Bytes from which on pauses are sent.",
                                            Unit::bytes)
          .from(1, kLargestBuffer),
      Row::of<&PauseThresholds::xon_bytes>("xon", "Bytes down to which they last.", Unit::bytes)
          .from(0, kLargestBuffer)};
  static constexpr FigureTable kTable{"When a queue sends pause frames.", kRows};
  return kTable;
}

/// Pause frames are repeated after half the longest pause.
const FigureTable& PauseConfig::figures() {
  using Row = FigureOf<PauseConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&PauseConfig::priority>("priority", "Priority of the frames in the queue.")
          .from(0, wire::kPriorities - 1),
      Row::of<&PauseConfig::link_bps>(
          "link", "Rate of the link that carries the pause frames sent.", Unit::bits_per_second)
          .from(kSlowestRate, kFastestLink),
      Row::of<&PauseConfig::honour>("honour", "Pause frames received are obeyed.").set_to(),
      Row::of<&PauseConfig::emit>("emit", "Bytes in the queue at which pause frames are sent.")};
  static constexpr FigureTable kTable{"Priority flow control of a queue.", kRows};
  return kTable;
}

const FigureTable& ServiceOrder::figures() {
  using Row = FigureOf<ServiceOrder>;
  static constexpr Figure kRows[] = {
      Row::of<&ServiceOrder::priority>("priority", "The highest priority is served first.")
          .from(0, kMostQueueClasses - 1),
      Row::of<&ServiceOrder::weight>(
          "weight", "Share of the link among classes of one priority (deficit round robin).")
          .from(1, kLargestWeight)};
  static constexpr FigureTable kTable{"When a class is served.", kRows};
  return kTable;
}

const FigureTable& queue_class_settings() {
  using Row = FigureOf<QueueClassConfig>;
  static constexpr Figure kRows[] = {
      Row::rows_of<&QueueClassConfig::order>(),
      Row::of<through<&QueueClassConfig::buffer, &BufferShare::reserve_bytes>>(
          "reserve", "Bytes of the buffer that only this class may fill.", Unit::bytes)
          .from(1, kLargestBuffer),
      Row::of<through<&QueueClassConfig::buffer, &BufferShare::limit_bytes>>(
          "limit", "Most bytes of the class; without it, the buffer.", Unit::bytes)
          .from(1, kLargestBuffer),
      Row::of<through<&QueueClassConfig::buffer, &BufferShare::alpha>>(
          "alpha", "Multiple of the free pool that the class may hold; without it, all of it.")
          .from(kSmallestAlpha, kLargestAlpha)};
  static constexpr FigureTable kTable{"A class of a queue.", kRows};
  return kTable;
}

const FigureTable& quantum_setting() {
  using Row = FigureOf<LineQueueConfig>;
  constexpr double kLeast = 64, kMost = 65536;  // see ClassScheduler
  static constexpr Figure kRows[] = {Row::of<&LineQueueConfig::quantum_bytes>(
                                         "quantum", "Bytes of a turn per weight.", Unit::bytes)
                                         .from(kLeast, kMost)};
  static constexpr FigureTable kTable{"Turns of classes.", kRows};
  return kTable;
}

namespace {

/// The class of a rule's frames.
const FigureTable& class_of_rule() {
  static constexpr Figure kRows[] = {
      FigureOf<QueueUse>::of<&QueueUse::cls>("class", "Class of the rule's frames.")
          .from(0, kMostQueueClasses - 1)};
  static constexpr FigureTable kTable{"A rule's class.", kRows};
  return kTable;
}

std::optional<PauseThresholds> read_thresholds(const StageKeys& table, std::uint64_t buffer) {
  if (!table.has("xoff") && !table.has("xon")) return std::nullopt;
  table.need("xoff", "bytes in the queue, \"600kB\"");
  table.need("xon", "bytes in the queue, \"400kB\"");
  PauseThresholds thresholds{.xoff_bytes = buffer};
  table.settings(thresholds);
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
  table->settings(pfc);
  pfc.emit = read_thresholds(*table, buffer);
  if (!pfc.honour && !pfc.emit)
    table->refuse("honour", "expected true, or xoff and xon; with neither it does nothing");
  table->finish();
  return pfc;
}

/// The rate of the queue for frames under a row of the trace, in bit/s.
double rate_of(const RuleConfig& rule, const QueueUse& use, std::uint32_t row) {
  const auto rate_bps = static_cast<double>(use.queue.rate_bps);
  return row == kNoRow ? rate_bps : rule.trace->rows[row].rate_bps.value_or(rate_bps);
}

/// Returns the time in ns that the link needs for frames that left directly after another frame.
/// Beside a shared queue, whose counts are of all its rules, a trace has no rates.
double time_of_busy(const RuleConfig& rule, const QueueUse& use, const RuleStats& stats) {
  double time = 0;
  std::uint64_t others = stats.service.link.busy_bytes;  // of frames that came in under no row
  for (std::uint32_t i = 0; i < stats.rows.size() && !rule.shared; ++i) {
    others -= stats.rows[i].busy_bytes;
    time += static_cast<double>(stats.rows[i].busy_bytes) * 8e9 / rate_of(rule, use, i);
  }
  return time + static_cast<double>(others) * 8e9 / rate_of(rule, use, kNoRow);
}

std::string pause_text(const PauseConfig& pfc) {
  std::string text = fmt::format(", pauses of priority {}", pfc.priority);
  if (pfc.emit)
    text += fmt::format(" sent from {} on down to {}", amount(pfc.emit->xoff_bytes),
                        amount(pfc.emit->xon_bytes));
  if (pfc.honour) text += pfc.emit ? " and honoured" : " honoured";
  return text;
}

std::uint64_t whole(double rate_bps) noexcept {
  return static_cast<std::uint64_t>(std::llround(rate_bps));
}

}  // namespace

bool Queue::present(const RuleConfig& rule) noexcept { return rule.queue || rule.shared; }

QueueUse Queue::use_of(const RuleConfig& rule) {
  if (rule.shared) return *rule.shared;
  const QueueConfig& own = *rule.queue;
  return {.owner = rule.name,
          .cls = 0,
          .queue = {.rate_bps = whole(own.rate_bps),
                    .buffer_bytes = own.buffer_bytes,
                    .cost = own.cost(),
                    .classes = std::vector<QueueClassConfig>(1)},
          .pauses = {own.pfc}};
}

bool Queue::in_same_class(const RuleConfig& a, const RuleConfig& b) noexcept {
  if (!present(a) || !present(b)) return false;
  const auto owner = [](const RuleConfig& rule) -> const std::string& {
    return rule.shared ? rule.shared->owner : rule.name;
  };
  const auto cls = [](const RuleConfig& rule) { return rule.shared ? rule.shared->cls : 0; };
  return owner(a) == owner(b) && cls(a) == cls(b);
}

Queue::Queue(const RuleConfig& rule, const StageSetup& setup)
    : queue_(setup.queue), rule_(setup.index) {
  const QueueUse use = use_of(rule);
  cls_ = use.cls;
  ns_per_byte_ = 8e9 / static_cast<double>(use.queue.rate_bps);
  if (!queue_) queue_ = std::make_shared<RulesQueue>(use.owner, use.queue);
  if (const PauseConfig* pfc = use.pfc()) pfc_ = *pfc;
  if (pfc_ && pfc_->emit) watch_.emplace(*pfc_);
}

bool Queue::admit_together(std::span<const std::uint32_t> held, Instant now, Duration delay,
                           std::span<Instant> releases, Stats& stats) noexcept {
  const std::uint64_t all = std::accumulate(held.begin(), held.end(), std::uint64_t{0});
  if (!queue_->frames.has_room_for_all(cls_, all)) return false;
  queue_->frames.put_together(
      held, now, [&, release = releases.begin()](RulesQueue::Waiting& place, Instant at) mutable {
        place = {.rule = rule_, .came = now, .release = at + delay};
        *release++ = at + delay;
      });
  queue_->watch.came(cls_, held.size(), all, now);
  stats.peak_queue_bytes = std::max(stats.peak_queue_bytes, bytes());
  return true;
}

std::uint64_t Queue::rate() const noexcept {
  return row_bps_ ? whole(*row_bps_) : queue_->config.rate_bps;
}

void Queue::inherit(Queue& old, const RuleConfig& rule, const RuleConfig& old_rule,
                    Instant now) noexcept {
  if (queue_->owner != old.queue_->owner || cls_ != old.cls_) return;
  if (rule.trace || old_rule.trace) {
    const bool same_trace = rule.trace == old_rule.trace;
    if (same_trace) {
      row_ = old.row_;
      row_bps_ = old.row_bps_;
    }
    if (!same_trace || queue_->config.rate_bps != old.queue_->config.rate_bps ||
        queue_->config.cost != old.queue_->config.cost) {
      queue_->frames.change_rate(now, rate());
      queue_->frames.for_each([&](RulesQueue::Waiting& frame) { frame.row = row_; });
    }
  }
  if (pfc_ == old.pfc_) return std::swap(watch_, old.watch_);
  const bool obeyed = old.pfc_ && old.pfc_->honour, obeys = pfc_ && pfc_->honour;
  if (obeyed && (!obeys || pfc_->priority != old.pfc_->priority)) queue_->pause(cls_, now, now);
}

void Queue::pause(const wire::PfcFields& asked, Instant now, Stats& stats) noexcept {
  if (!pfc_ || !pfc_->honour || !asked.quanta[pfc_->priority]) return;
  const auto rate_bps = static_cast<double>(queue_->config.rate_bps);
  const Instant until = now + time_of_quanta(*asked.quanta[pfc_->priority], rate_bps);
  // Pauses don't add up: the latest one counts.
  stats.pauses.silent_ns += (until - std::max(now, queue_->frames.paused_until(cls_))).count();
  ++stats.pauses.heard;
  queue_->pause(cls_, now, until);
}

namespace {

QueueClassConfig read_class(const StageKeys& table, std::uint64_t buffer,
                            std::optional<PauseConfig>& pfc) {
  QueueClassConfig read;
  table.settings(queue_class_settings(), &read);
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
  table.settings(class_of_rule(), &use);
  table.finish();
}

}  // namespace

Figure Queue::settings() {
  return FigureOf<RuleConfig>::of<&RuleConfig::queue>(kName, "Frames wait for a slower link.");
}

void Queue::read(const StageKeys& rule, RuleConfig& config) {
  if (rule.has(kName) && !rule.is_table(kName)) {
    if (const auto rate = rule.get(kName, read_rate)) config.queue = {.rate_bps = *rate};
    return;
  }
  const auto table = rule.table(kName);
  if (!table) return;
  if (table->has("shared")) return read_use(*table, config.shared.emplace());
  QueueConfig& queue = config.queue.emplace();
  table->need("rate", "the link's rate, \"10Gb/s\"");
  table->need("buffer", "how many bytes may wait, \"16MB\"");
  queue = {.rate_bps = kSlowestRate, .buffer_bytes = 1};
  table->settings(queue);
  if (table->has("cell_overhead") && !table->has("cell"))
    table->refuse("cell_overhead", "expected beside cell = \"48B\"");
  queue.pfc = read_pfc(*table, queue.buffer_bytes);
  if (table->has("classes")) {
    QueueUse& use = config.shared.emplace();
    read_classes(*table, queue.buffer_bytes, use);
    table->settings(quantum_setting(), &use.queue);
    table->settings(class_of_rule(), &use);
    if (queue.pfc)
      table->refuse("pfc", "expected pfc in the classes, beside classes, found it in the queue");
  }
  table->finish();
}

namespace {

std::string text_of_own(const QueueConfig& queue) {
  const std::string cells = queue.cell == 0 ? ""
                                            : fmt::format(", in cells of {} B and {} B besides",
                                                          queue.cell, queue.cell_overhead);
  return fmt::format("{}, buffer {}, {} B a frame beside its own{}{}",
                     format_bit_rate(queue.rate_bps), amount(queue.buffer_bytes), queue.overhead,
                     cells, queue.pfc ? pause_text(*queue.pfc) : "");
}

std::string text_of_class(const QueueUse& use) {
  const QueueClassConfig& own = use.queue.classes[use.cls];
  std::string text = fmt::format(
      "class {} of {}, priority {}, weight {}, of the queue of rule {}: {}, buffer {}", use.cls,
      use.queue.classes.size(), own.order.priority, own.order.weight, use.owner,
      format_bit_rate(static_cast<double>(use.queue.rate_bps)), amount(use.queue.buffer_bytes));
  if (own.buffer.reserve_bytes > 0)
    text += fmt::format(", {} of it reserved", amount(own.buffer.reserve_bytes));
  if (own.buffer.limit_bytes != BufferShare::kNoLimit)
    text += fmt::format(", at most {}", amount(own.buffer.limit_bytes));
  if (std::isfinite(own.buffer.alpha))
    text += fmt::format(", at most {} times what is free", own.buffer.alpha);
  if (const PauseConfig* pfc = use.pfc()) text += pause_text(*pfc);
  return text;
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

/// The largest difference that deficit round robin allows between two classes of one priority, in
/// bytes per unit of weight: each has had at most three turns more than the other, and each turn
/// ends within a frame of its quantum.
double widest_allowed(const QueueUse& use, double largest_frame) {
  const std::uint32_t priority = use.queue.classes[use.cls].order.priority;
  std::uint32_t divisor = 0, least = kLargestWeight;
  for (const QueueClassConfig& c : use.queue.classes) {
    if (c.order.priority != priority) continue;
    divisor = std::gcd(divisor, c.order.weight);
    least = std::min(least, c.order.weight);
  }
  return 3.0 * use.queue.quantum_bytes / divisor + 2 * largest_frame / least;
}

/// The widest difference of all priorities is known, so the largest bound counts.
double widest_allowed(const QueueUse& use, const ServiceStats& seen) {
  double most = 0;
  QueueUse other = use;
  for (other.cls = 0; other.cls < use.queue.classes.size(); ++other.cls)
    most = std::max(most, widest_allowed(other, static_cast<double>(seen.largest)));
  return most;
}

}  // namespace

void Queue::describe(const RuleConfig& rule, StageTexts& texts) {
  texts.emplace_back(kName, rule.shared ? text_of_class(*rule.shared) : text_of_own(*rule.queue));
}

/// Checks what left the whole queue: its rate while frames left directly after each other, its
/// fullest buffer, that no class overtook one of a higher priority, and the shares of classes of
/// one priority.
void Queue::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  const ServiceStats& seen = stats.service;
  if (seen.link.frames == 0) return;
  const QueueUse use = use_of(rule);
  audit_busy(seen.link, time_of_busy(rule, use, stats), checks);
  const auto buffer = static_cast<double>(use.queue.buffer_bytes);
  checks.push_back({kNumber, "fullest buffer", seen.link.frames, buffer,
                    static_cast<double>(seen.peak_bytes), 0, buffer, CheckUnit::bytes});
  if (use.queue.classes.size() < 2) return;
  checks.push_back({kNumber, "left before a higher priority", seen.link.frames, 0,
                    static_cast<double>(seen.overtook), 0, 0, CheckUnit::frames});
  if (seen.shared > 0)
    checks.push_back({kNumber, "difference of shares, per weight", seen.shared, 0, seen.widest, 0,
                      widest_allowed(use, seen), CheckUnit::bytes});
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

std::uint64_t Queue::bytes_needed(const RuleConfig& rule) {
  constexpr std::uint64_t kWaiting = 16;  // of a link, for each frame in the queue
  const QueueUse use = use_of(rule);
  const std::uint64_t own = std::bit_ceil(RulesQueue::Frames::most_inside(use.queue)) * kWaiting;
  return use.owner == rule.name ? own + RulesQueue::Frames::bytes_needed(use.queue) : own;
}

/// Adds the time that a full buffer needs to drain at the slowest rate.
void Queue::add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  const LineQueueConfig& shared = rule.shared ? rule.shared->queue : LineQueueConfig{};
  double rate = rule.shared ? static_cast<double>(shared.rate_bps) : rule.queue->rate_bps;
  if (ample.slowest_bps > 0) rate = std::min(rate, ample.slowest_bps);
  const std::uint64_t buffer = rule.shared ? shared.buffer_bytes : rule.queue->buffer_bytes;
  ample.total += Duration{static_cast<Duration::rep>(static_cast<double>(buffer) * 8e9 / rate)};
}

}  // namespace lw::emulator
