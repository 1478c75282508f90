// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/direction_report.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/figure.h"

namespace lw::impair {

Spread spread_of(const Histogram& histogram) {
  return {.count = histogram.count(),
          .minimum = histogram.minimum(),
          .p50 = histogram.quantile(0.5),
          .p99 = histogram.quantile(0.99),
          .p999 = histogram.quantile(0.999),
          .maximum = histogram.maximum(),
          .sum = histogram.sum(),
          .up_to = histogram.counts_up_to(Spread::kLimits)};
}

Histogram::Bucket delay_bucket(std::int64_t delay) {
  constexpr int kBits = 9;  // significant bits of a value that are kept
  const auto width = std::bit_width(static_cast<std::uint64_t>(delay));
  const int rest = std::max(static_cast<int>(width) - kBits, 0);
  const std::int64_t first = delay >> rest << rest;
  return {first, first + (std::int64_t{1} << rest) - 1, 0};
}

std::vector<Histogram::Bucket> delays_of(const Histogram& histogram) {
  std::vector<Histogram::Bucket> merged;
  for (const auto& bucket : histogram.occupied()) {
    const Histogram::Bucket coarse = delay_bucket(bucket.first);
    if (merged.empty() || merged.back().first != coarse.first) merged.push_back(coarse);
    merged.back().count += bucket.count;
  }
  return merged;
}

/// Up to this number of rules a report lists all of them; of more, those that received frames.
constexpr std::size_t kAllListed = 256;

DirectionReport report_of(const emulator::Pipeline& pipeline, emulator::Accounting accounting) {
  DirectionReport report{.accounting = std::move(accounting)};
  for (std::size_t i = 0; i < pipeline.rules().size(); ++i) {
    const emulator::Rule& rule = pipeline.rules()[i];
    // Statistics are some kilobytes per rule. No frame is forwarded while they are copied.
    if (pipeline.rules().size() > kAllListed &&
        report.accounting.rules[rule.index()].received.frames == 0)
      continue;
    report.stages.push_back({pipeline.rule_names()[rule.index()],
                             rule.totals(),
                             {},
                             rule.stats(),
                             pipeline.shared_configs(),
                             i,
                             rule.queued_bytes()});
  }
  report.events = {pipeline.events().outcomes(), pipeline.events().untracked(),
                   pipeline.event_hits()};
  return report;
}

bool is_listed(const emulator::Accounting& accounting, const emulator::Account& rule) noexcept {
  return accounting.rules.size() <= kAllListed || rule.received.frames + rule.created.frames > 0 ||
         &rule == &accounting.rules.back();
}

void audit(DirectionReport& direction) {
  for (StagesReport& stages : direction.stages)
    stages.checks = emulator::audit((*stages.configs)[stages.place], stages.since_change);
}

namespace {

/// Share of the received frames that rules dropped, or that were lost for lack of a resource;
/// nothing if no frame was received.
std::optional<double> loss_share(const DirectionReport& report) {
  const emulator::Account& account = report.accounting.direction;
  if (account.received.frames == 0) return std::nullopt;
  const std::uint64_t dropped = account.dropped_by_rule.frames + account.wanting().frames;
  return static_cast<double>(dropped) / static_cast<double>(account.received.frames);
}

/// The histogram of the requested delays: [first, last, frames], in ns.
std::optional<std::vector<std::array<std::int64_t, 3>>> shown_delays(
    const DirectionReport& report) {
  if (!report.shows_delays) return std::nullopt;
  std::vector<std::array<std::int64_t, 3>> rows;
  for (const auto& bucket : report.delays)
    rows.push_back({bucket.first, bucket.last, static_cast<std::int64_t>(bucket.count)});
  return rows;
}

const emulator::EventHits* event_packets(const DirectionReport& report) {
  return report.events.hits.packets == 0 ? nullptr : &report.events.hits;
}

std::vector<std::pair<std::string_view, std::uint64_t>> acted(const StagesReport& report) {
  std::vector<std::pair<std::string_view, std::uint64_t>> counts;
  for (std::size_t i = 1; i < emulator::kStages; ++i)
    if (report.stats.acted[i] > 0)
      counts.emplace_back(name_of(static_cast<emulator::Stage>(i)), report.stats.acted[i]);
  return counts;
}

}  // namespace

std::vector<const emulator::Account*> listed_rules(const DirectionReport& report) {
  std::vector<const emulator::Account*> rules;
  for (const emulator::Account& rule : report.accounting.rules)
    if (is_listed(report.accounting, rule)) rules.push_back(&rule);
  return rules;
}

const FigureTable& Spread::figures() {
  using Row = FigureOf<Spread>;
  static constexpr Figure kRows[] = {
      Row::of<&Spread::count>("count", "Number of values."),
      Row::of<&Spread::minimum>("min", "Smallest value.", Unit::ns),
      Row::of<&Spread::p50>("p50", "Median.", Unit::ns),
      Row::of<&Spread::p99>("p99", "99th percentile.", Unit::ns),
      Row::of<&Spread::p999>("p99_9", "99.9th percentile.", Unit::ns),
      Row::of<&Spread::maximum>("max", "Largest value.", Unit::ns)};
  static constexpr FigureTable kTable{"Distribution of a time, in nanoseconds.", kRows};
  return kTable;
}

const FigureTable& StagesReport::figures() {
  using Row = FigureOf<StagesReport>;
  static constexpr Figure kRows[] = {
      Row::of<&StagesReport::rule>("rule", "Name of the rule."),
      Row::of<acted>("acted", "Frames on which each stage acted.", Unit::frames).by("stage"),
      Row::of<&StagesReport::checks>("checks", "Asked and seen shares of random stages."),
      Row::rows_of<&StagesReport::stats>(),
      Row::of<&StagesReport::queued_bytes>("queued_bytes",
                                           "Bytes in the rule's queue, if it has one.", Unit::bytes)
          .as_gauge()};
  static constexpr FigureTable kTable{"What the stages of a rule did.", kRows};
  return kTable;
}

const FigureTable& ArrivalReport::figures() {
  using Row = FigureOf<ArrivalReport>;
  static constexpr Figure kRows[] = {
      Row::of<&ArrivalReport::stamped>("stamped",
                                       "True if the kernel or the device stamps frames when they "
                                       "arrive, from which delays count; "
                                       "otherwise they count from when a frame is received."),
      Row::of<&ArrivalReport::stepped>(
          "stepped", "Frames whose stamps cannot be, as the clock has stepped.", Unit::frames),
      Row::of<&ArrivalReport::uncertainty>("uncertainty_ns",
                                           "How far off a stamp of a DPDK port may be: its "
                                           "resolution, or half of what a reading of the "
                                           "device's clock took. Absent for other ports.",
                                           Unit::ns),
      Row::of<&ArrivalReport::wait>(
          "wait_ns",
          "Without stamps: at most so long frames have waited in the port before they were "
          "received, which is in no other figure.",
          Unit::ns),
      Row::of<&ArrivalReport::departures>(
          "departures",
          "Frames sent whose departure is the stamp of the output interface's driver; that of the "
          "others is when they were handed over.",
          Unit::frames)};
  static constexpr FigureTable kTable{"What is known about when frames arrived and left.", kRows};
  return kTable;
}

const FigureTable& DirectionReport::figures() {
  using Row = FigureOf<DirectionReport>;
  static constexpr Figure kRows[] = {
      Row::rows_of<[](const DirectionReport& d) -> const auto& {
        return d.accounting.direction;
      }>(),
      Row::of<[](const DirectionReport& d) { return d.accounting.holds(); }>(
          "holds", emulator::kHoldsMeaning),
      Row::of<loss_share>("loss_share",
                          "Dropped frames over received ones; null without received ones.")
          .or_null(),
      Row::of<[](const DirectionReport& d) { return d.accounting.fragments; }>(
          "fragments", "IP fragments, which no rule of RoCE matches.", Unit::frames),
      Row::of<[](const DirectionReport& d) { return d.accounting.truncated; }>(
          "truncated", "Frames that were cut.", Unit::frames),
      Row::of<&DirectionReport::delay>(
          "delay_ns", "What rules asked of the frames that wait, asked release minus arrival.",
          Unit::ns),
      Row::of<&DirectionReport::release_error>("release_error_ns", kReleaseErrorMeaning, Unit::ns),
      Row::of<&DirectionReport::pass_latency>("pass_latency_ns", kPassLatencyMeaning, Unit::ns),
      Row::of<&DirectionReport::late_frames>(
          "late_frames", "Frames that left later than 5 % of their delay, at least 200 us.",
          Unit::frames),
      Row::of<&DirectionReport::arrivals>("arrivals",
                                          "What is known about arrivals; only of a run."),
      Row::of<listed_rules>("rules", "Counters by rule."),
      Row::of<&DirectionReport::stages>("stages", "Stages by rule."),
      Row::of<[](const DirectionReport& d) -> const auto& { return d.events.outcomes; }>(
          "events", "Events, and how often they happened.")
          .if_any(),
      Row::of<event_packets>("event_packets", "Packets of events."),
      Row::of<[](const DirectionReport& d) { return d.events.untracked; }>(
          "untracked", "Packets of QPs beyond the table of QPs.", Unit::frames)
          .if_any(),
      Row::of<shown_delays>("delays_ns",
                            "Frames by the delay that was asked for, in ascending order: from, to "
                            "(in ns), frames; only `ctl show`.")};
  static constexpr FigureTable kTable{"One direction of a run.", kRows};
  return kTable;
}

}  // namespace lw::impair
