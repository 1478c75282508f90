// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/expectation.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/names.h"

namespace lw::dissect {
namespace {

using Kind = Metric::Kind;
using ValueUnit = Expectation::Unit;

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
    {"loss", "share of the sent frames that were lost", Kind::share,
     [](const DirectionResult& d) { return share_of(d.lost, d.sent); }},
    {"lost", "lost frames", Kind::count, count_of<&DirectionResult::lost>},
    {"duplicates", "further copies that arrived", Kind::count,
     count_of<&DirectionResult::duplicated>},
    {"reordered", "frames that arrived after later ones", Kind::count,
     count_of<&DirectionResult::reordered>},
    {"changed", "frames that were changed on the way", Kind::count,
     count_of<&DirectionResult::changed>},
    {"corrupt", "changed and invented frames with a bad ICRC", Kind::count,
     count_of<&DirectionResult::damaged>},
    {"invented", "frames that only the receiver's point saw", Kind::count,
     count_of<&DirectionResult::invented>},
    {"ce", "share of the received frames with ECN CE", Kind::share,
     [](const DirectionResult& d) { return share_of(d.ce, d.received); }},
    {"marked", "share of the received frames that were marked CE on the way", Kind::share,
     [](const DirectionResult& d) { return share_of(d.marked, d.received); }},
    {"min", "shortest one-way delay", Kind::time, delay_of<0>},
    {"p50", "median of the delay", Kind::time, delay_of<500>},
    {"p90", "90th percentile of the delay", Kind::time, delay_of<900>},
    {"p99", "99th percentile of the delay", Kind::time, delay_of<990>},
    {"p99.9", "99.9th percentile of the delay", Kind::time, delay_of<999>},
    {"max", "longest delay", Kind::time, delay_of<1000>},
    {"mean", "mean delay", Kind::time,
     [](const DirectionResult& d) {
       return d.delays.count() == 0 ? std::nullopt : std::optional(d.delays.mean());
     }},
    {"jitter", "mean difference between the delays of frames that arrived one after the other",
     Kind::time,
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

Parsed<void> wrong_value(const Expectation& limit, std::string_view expected) {
  return std::unexpected(
      fmt::format("{}: expected {}, found \"{}\"", limit.name, expected, limit.limit));
}

bool is_share(const Expectation& limit) {
  return (limit.unit == ValueUnit::share || limit.unit == ValueUnit::none) && limit.value >= 0 &&
         limit.value <= 1;
}

/// Checks that the value has the metric's kind.
Parsed<void> check_value(const Expectation& limit, Kind kind) {
  if (kind == Kind::time && limit.unit != ValueUnit::time)
    return wrong_value(limit, "a time (1.9ms)");
  if (kind == Kind::share && !is_share(limit)) return wrong_value(limit, "a share (0.1%)");
  const bool counts = limit.unit == ValueUnit::share
                          ? is_share(limit)
                          : limit.unit == ValueUnit::none && limit.value >= 0 &&
                                limit.value == std::floor(limit.value);
  if (kind == Kind::count && !counts)
    return wrong_value(limit, "a number of frames or a share (12, 0.1%)");
  return {};
}

Judgement judge_one(const MetricExpectation& expectation, std::string direction,
                    const DirectionResult& result) {
  Judgement judgement{std::move(direction), &expectation, expectation.metric->measure(result),
                      false};
  if (!judgement.measured) return judgement;
  const Expectation& limit = expectation.limit;
  const bool of_sent = expectation.metric->kind == Kind::count && limit.unit == ValueUnit::share;
  judgement.holds = limit.compares(
      *judgement.measured, of_sent ? limit.value * static_cast<double>(result.sent) : limit.value);
  return judgement;
}

}  // namespace

std::span<const Metric> all_metrics() { return kMetrics; }

bool is_metric(std::string_view name) {
  return std::ranges::find(kMetrics, name, &Metric::name) != std::end(kMetrics);
}

Parsed<MetricExpectation> parse_metric_expectation(std::string_view text) {
  auto limit = parse_expectation(text);
  if (!limit) return std::unexpected(limit.error());
  const auto metric = find_metric(limit->name);
  if (!metric) return std::unexpected(metric.error());
  if (auto fits = check_value(*limit, (*metric)->kind); !fits) return std::unexpected(fits.error());
  return MetricExpectation{.limit = std::move(*limit), .metric = *metric};
}

std::vector<Judgement> judge(std::span<const MetricExpectation> expectations,
                             const Comparison& comparison) {
  std::vector<Judgement> judgements;
  for (const MetricExpectation& expectation : expectations) {
    const DirectionResult &there = comparison.near_to_far, &back = comparison.far_to_near;
    if (there.seen()) judgements.push_back(judge_one(expectation, "near > far", there));
    if (back.seen()) judgements.push_back(judge_one(expectation, "far > near", back));
    if (!there.seen() && !back.seen())
      judgements.push_back({"", &expectation, std::nullopt, false});
  }
  return judgements;
}

std::string measured_text(const Judgement& judgement) {
  if (!judgement.measured) return "none";
  const double value = *judgement.measured;
  switch (judgement.expectation->metric->kind) {
    case Kind::count:
      return fmt::format("{:.0f}", value);
    case Kind::share:
      return fmt::format("{:.4g} %", value * 100);
    case Kind::time:
      return fmt::format("{:.3f} us", value / 1000);
  }
  return {};
}

report::TestCase test_case_of(const Judgement& judgement) {
  return {.suite = judgement.direction.empty() ? "no RoCE frames" : judgement.direction,
          .name = judgement.expectation->limit.text,
          .measured = measured_text(judgement),
          .expected = judgement.expectation->limit.limit,
          .passed = judgement.holds};
}

}  // namespace lw::dissect
