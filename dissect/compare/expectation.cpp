// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/expectation.h"

#include <fmt/format.h>

#include "core/quantity.h"
#include "dissect/fields/capture_question.h"

namespace lw::dissect {
namespace {

using enum Expectation::Unit;

std::optional<double> share_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

template <std::uint64_t DirectionResult::* kCount>
std::optional<double> count_of(const DirectionResult& d) {
  return static_cast<double>(d.*kCount);
}

/// A quantile in permille.
template <int kPermille>
std::optional<double> delay_of(const DirectionResult& d) {
  if (d.delays.count() == 0) return std::nullopt;
  return static_cast<double>(d.delays.quantile(kPermille / 1000.0));
}

/// How a figure of a direction is measured: nothing if there is no value, as no delay was measured
/// and no frame was sent.
struct Measure {
  const char* name;
  std::optional<double> (*of)(const DirectionResult&);
};

constexpr Measure kMeasures[] = {
    {"loss", [](const DirectionResult& d) { return share_of(d.lost, d.sent); }},
    {"lost", count_of<&DirectionResult::lost>},
    {"duplicates", count_of<&DirectionResult::duplicated>},
    {"reordered", count_of<&DirectionResult::reordered>},
    {"changed", count_of<&DirectionResult::changed>},
    {"corrupt", count_of<&DirectionResult::damaged>},
    {"invented", count_of<&DirectionResult::invented>},
    {"ce", [](const DirectionResult& d) { return share_of(d.ce, d.received); }},
    {"marked", [](const DirectionResult& d) { return share_of(d.marked, d.received); }},
    {"min", delay_of<0>},
    {"p50", delay_of<500>},
    {"p90", delay_of<900>},
    {"p99", delay_of<990>},
    {"p99_9", delay_of<999>},
    {"max", delay_of<1000>},
    {"mean",
     [](const DirectionResult& d) {
       return d.delays.count() == 0 ? std::nullopt : std::optional(d.delays.mean());
     }},
    {"jitter",
     [](const DirectionResult& d) {
       return d.delays.count() < 2 ? std::nullopt : std::optional(d.delays.jitter());
     }},
};

constexpr Question kCompareQuestions[] = {
    {.name = "loss",
     .meaning = "share of the sent frames that were lost",
     .unit = share,
     .where = "both captures"},
    {.name = "lost", .meaning = "lost frames", .unit = none, .where = "both captures"},
    {.name = "duplicates",
     .meaning = "further copies that arrived",
     .unit = none,
     .where = "both captures"},
    {.name = "reordered",
     .meaning = "frames that arrived after later ones",
     .unit = none,
     .where = "both captures"},
    {.name = "changed",
     .meaning = "frames that were changed on the way",
     .unit = none,
     .where = "both captures"},
    {.name = "corrupt",
     .meaning = "changed and invented frames with a bad ICRC",
     .unit = none,
     .where = "both captures"},
    {.name = "invented",
     .meaning = "frames that only the receiver's point saw",
     .unit = none,
     .where = "both captures"},
    {.name = "ce",
     .meaning = "share of the received frames with ECN CE",
     .unit = share,
     .where = "both captures"},
    {.name = "marked",
     .meaning = "share of the received frames that were marked CE on the way",
     .unit = share,
     .where = "both captures"},
    {.name = "min", .meaning = "shortest one-way delay", .unit = time, .where = "both captures"},
    {.name = "p50", .meaning = "median of the delay", .unit = time, .where = "both captures"},
    {.name = "p90",
     .meaning = "90th percentile of the delay",
     .unit = time,
     .where = "both captures"},
    {.name = "p99",
     .meaning = "99th percentile of the delay",
     .unit = time,
     .where = "both captures"},
    {.name = "p99_9",
     .meaning = "99.9th percentile of the delay",
     .unit = time,
     .where = "both captures"},
    {.name = "max", .meaning = "longest delay", .unit = time, .where = "both captures"},
    {.name = "mean", .meaning = "mean delay", .unit = time, .where = "both captures"},
    {.name = "jitter",
     .meaning = "mean difference between the delays of frames that arrived one after the other",
     .unit = time,
     .where = "both captures"},
    {.name = "compared",
     .meaning = "frames that both points saw",
     .asked = "the captures have frames in common",
     .limit = ">= 1",
     .where = "both captures",
     .noted = true},
    {.name = "ledger",
     .meaning = "differences without a record of the ledger, and records without a difference",
     .asked = "with --ledger, the ledger explains each difference, and a difference each record",
     .limit = "== 0",
     .where = "ledger and captures"},
    kCaptureQuestion,
};

void observe_direction(Judge& judge, const char* direction, const DirectionResult& result) {
  if (!result.seen()) return;
  for (const auto& [name, of] : kMeasures)
    judge.add({.name = name,
               .of = direction,
               .value = of(result),
               .count = result.sent,
               .whole = static_cast<double>(result.sent)});
}

}  // namespace

std::span<const Question> compare_questions() noexcept { return kCompareQuestions; }

void observe_directions(Judge& judge, const Comparison& comparison) {
  observe_direction(judge, "near_to_far", comparison.near_to_far);
  observe_direction(judge, "far_to_near", comparison.far_to_near);
  const std::uint64_t common = comparison.near_to_far.received - comparison.near_to_far.invented +
                               comparison.far_to_near.received - comparison.far_to_near.invented;
  judge.add({.name = "compared",
             .value = static_cast<double>(common),
             .text = common == 0
                         ? "no frame was seen at both points"
                         : fmt::format("{} seen at both points", format_count(common, "frame")),
             .count = common,
             .broken = "nothing can be compared"});
}

void observe_ledger(Judge& judge, const char* direction, const LedgerFindings& found) {
  const std::uint64_t open = found.differences_unexplained + found.records_unexplained;
  judge.add({.name = "ledger",
             .of = direction,
             .value = static_cast<double>(open),
             .text = fmt::format(
                 "{} of {} differences have no record, {} of {} records have no "
                 "difference",
                 format_count(found.differences_unexplained), format_count(found.differences),
                 format_count(found.records_unexplained), format_count(found.records)),
             .count = found.differences + found.records,
             .asked_by = "--ledger"});
}

}  // namespace lw::dissect
