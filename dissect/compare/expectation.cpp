// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/expectation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/names.h"

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

constexpr Metric kMetrics[] = {
    {"loss", "share of the sent frames that were lost", share,
     [](const DirectionResult& d) { return share_of(d.lost, d.sent); }},
    {"lost", "lost frames", none, count_of<&DirectionResult::lost>},
    {"duplicates", "further copies that arrived", none, count_of<&DirectionResult::duplicated>},
    {"reordered", "frames that arrived after later ones", none,
     count_of<&DirectionResult::reordered>},
    {"changed", "frames that were changed on the way", none, count_of<&DirectionResult::changed>},
    {"corrupt", "changed and invented frames with a bad ICRC", none,
     count_of<&DirectionResult::damaged>},
    {"invented", "frames that only the receiver's point saw", none,
     count_of<&DirectionResult::invented>},
    {"ce", "share of the received frames with ECN CE", share,
     [](const DirectionResult& d) { return share_of(d.ce, d.received); }},
    {"marked", "share of the received frames that were marked CE on the way", share,
     [](const DirectionResult& d) { return share_of(d.marked, d.received); }},
    {"min", "shortest one-way delay", time, delay_of<0>},
    {"p50", "median of the delay", time, delay_of<500>},
    {"p90", "90th percentile of the delay", time, delay_of<900>},
    {"p99", "99th percentile of the delay", time, delay_of<990>},
    {"p99_9", "99.9th percentile of the delay", time, delay_of<999>},
    {"max", "longest delay", time, delay_of<1000>},
    {"mean", "mean delay", time,
     [](const DirectionResult& d) {
       return d.delays.count() == 0 ? std::nullopt : std::optional(d.delays.mean());
     }},
    {"jitter", "mean difference between the delays of frames that arrived one after the other",
     time,
     [](const DirectionResult& d) {
       return d.delays.count() < 2 ? std::nullopt : std::optional(d.delays.jitter());
     }},
};

Parsed<const Metric*> find_metric(std::string_view name) {
  const auto at = std::ranges::find(kMetrics, name, &Metric::name);
  if (at != std::end(kMetrics)) return at;
  std::vector<std::string_view> names;
  for (const Metric& metric : kMetrics) names.push_back(metric.name);
  const std::string_view near = nearest(name, names);
  return std::unexpected(
      fmt::format("no metric \"{}\"{}", name,
                  near.empty() ? fmt::format(": expected one of {}", fmt::join(names, ", "))
                               : fmt::format(": did you mean \"{}\"?", near)));
}

report::Judgement judge_one(const Expectation& expectation, std::string direction,
                            const DirectionResult& result) {
  const Metric& metric = **find_metric(expectation.name);
  const bool of_sent = metric.unit == none && expectation.unit == share;
  return report::judge_value(expectation, std::move(direction), metric.unit,
                             result.seen() ? metric.measure(result) : std::nullopt,
                             of_sent ? static_cast<double>(result.sent) : 1);
}

}  // namespace

std::span<const Metric> all_metrics() { return kMetrics; }

bool is_metric(std::string_view name) {
  return std::ranges::find(kMetrics, name, &Metric::name) != std::end(kMetrics);
}

Parsed<Expectation> parse_metric_expectation(std::string_view text) {
  auto limit = parse_expectation(text);
  if (!limit) return limit;
  const auto metric = find_metric(limit->name);
  if (!metric) return std::unexpected(metric.error());
  if (auto fits = check_limit(*limit, (*metric)->unit); !fits)
    return std::unexpected(limit->name + ": " + fits.error());
  return limit;
}

std::vector<report::Judgement> judge(std::span<const Expectation> expectations,
                                     const Comparison& comparison) {
  std::vector<report::Judgement> judgements;
  for (const Expectation& expectation : expectations) {
    const DirectionResult &there = comparison.near_to_far, &back = comparison.far_to_near;
    if (there.seen()) judgements.push_back(judge_one(expectation, "near_to_far", there));
    if (back.seen()) judgements.push_back(judge_one(expectation, "far_to_near", back));
    if (!there.seen() && !back.seen())
      judgements.push_back(judge_one(expectation, "no RoCE frames", {}));
  }
  return judgements;
}

}  // namespace lw::dissect
