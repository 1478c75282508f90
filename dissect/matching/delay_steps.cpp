// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/delay_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

namespace lw::dissect {
namespace {

using Levels = std::span<const double>;

double quantile_of(std::vector<double>& values, double q) {
  const auto at = values.begin() +
                  static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, at);
  return *at;
}

/// The slope of a part of the samples by least squares, in ns a ns.
double slope_within(std::span<const DelaySample> samples) {
  const auto n = static_cast<double>(samples.size());
  double t = 0, d = 0, tt = 0, td = 0;
  for (const DelaySample& sample : samples) {
    const auto time = static_cast<double>(sample.time_ns - samples[0].time_ns);
    const auto delay = static_cast<double>(sample.delay_ns - samples[0].delay_ns);
    t += time, d += delay, tt += time * time, td += time * delay;
  }
  const double spread = tt - t * t / n;
  return spread > 0 ? (td - t * d / n) / spread : 0;
}

/// The drift of the samples, in ns a ns: the median of the slopes of kBlocks parts, of which a step
/// changes one. 0 if it is less than four times its standard error.
double slope_of(std::span<const DelaySample> samples) {
  constexpr std::size_t kBlocks = 8, kFewestOfBlock = 16;
  const std::size_t size = samples.size() / kBlocks;
  if (size < kFewestOfBlock) return 0;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < kBlocks; ++i)
    slopes.push_back(slope_within(samples.subspan(i * size, size)));
  const double slope = quantile_of(slopes, 0.5);
  std::vector<double> distances;
  for (const double one : slopes) distances.push_back(std::abs(one - slope));
  // Of the median of normal values, from the median distance.
  const double error = 1.4826 * quantile_of(distances, 0.5) * 1.2533 / std::sqrt(kBlocks);
  return std::abs(slope) < 4 * error ? 0 : slope;
}

/// Delays without the drift, relative to the first one.
std::vector<double> level_delays(std::span<const DelaySample> samples) {
  const double slope = slope_of(samples);
  std::vector<double> delays;
  delays.reserve(samples.size());
  for (const DelaySample& sample : samples)
    delays.push_back(
        static_cast<double>(sample.delay_ns) - static_cast<double>(samples[0].delay_ns) -
        slope * (static_cast<double>(sample.time_ns) - static_cast<double>(samples[0].time_ns)));
  return delays;
}

/// Ranks from 1; equal values share their mean.
std::vector<double> ranks_of(Levels delays) {
  std::vector<std::uint32_t> order(delays.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return delays[i]; });
  std::vector<double> ranks(delays.size());
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    while (end < order.size() && delays[order[end]] == delays[order[i]]) ++end;
    const double rank = static_cast<double>(i + 1 + end) / 2;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = rank;
  }
  return ranks;
}

/// The likeliest place of a step, by Pettitt's test; nothing: the series has none.
std::optional<std::size_t> pettitt(Levels delays) {
  const std::vector<double> ranks = ranks_of(delays);
  const auto n = static_cast<double>(delays.size());
  double sum = 0, most = 0;
  std::size_t place = 0;
  for (std::size_t i = 0; i + 1 < ranks.size(); ++i) {
    sum += ranks[i];
    const double count = static_cast<double>(i + 1);
    const double statistic = std::abs(2 * sum - count * (n + 1));
    if (statistic > most) most = statistic, place = i + 1;
  }
  const double false_rate = 2 * std::exp(-6 * most * most / (n * n * n + n * n));
  if (false_rate > kStepFalseRate) return std::nullopt;
  return place;
}

/// What the window around a place shows: the step there; nothing: the delay does not move as a
/// whole.
std::optional<double> step_at(Levels delays, std::size_t place, double resolution) {
  if (place < kStepFewest || delays.size() - place < kStepFewest) return std::nullopt;
  const std::size_t before = std::min(place, kStepWindow);
  const std::size_t behind = std::min(delays.size() - place, kStepWindow);
  std::vector<double> left(delays.begin() + static_cast<std::ptrdiff_t>(place - before),
                           delays.begin() + static_cast<std::ptrdiff_t>(place));
  std::vector<double> right(delays.begin() + static_cast<std::ptrdiff_t>(place),
                            delays.begin() + static_cast<std::ptrdiff_t>(place + behind));
  const auto moved = [&](double q) { return quantile_of(right, q) - quantile_of(left, q); };
  const double by = moved(0.5);
  const double range = std::max(quantile_of(left, 0.99) - quantile_of(left, 0.01),
                                quantile_of(right, 0.99) - quantile_of(right, 0.01));
  if (std::abs(by) <= 3 * resolution || std::abs(by) < 0.5 * range) return std::nullopt;
  for (const double q : {0.1, 0.9})
    if (std::abs(moved(q) - by) > 0.5 * std::abs(by)) return std::nullopt;
  return by;
}

/// Finds the steps of a part of the series, which begins at `from`.
void find_in(Levels delays, std::size_t from, double resolution, std::vector<DelayStep>& steps) {
  if (delays.size() < 2 * kStepFewest || steps.size() >= kMostDelaySteps) return;
  const auto place = pettitt(delays);
  if (!place || *place == 0) return;
  find_in(delays.first(*place), from, resolution, steps);
  if (const auto by = step_at(delays, *place, resolution))
    steps.push_back({from + *place, std::llround(*by)});
  find_in(delays.subspan(*place), from + *place, resolution, steps);
}

}  // namespace

std::vector<DelayStep> find_delay_steps(std::span<const DelaySample> samples,
                                        std::int64_t resolution_ns) {
  std::vector<DelayStep> steps;
  if (samples.size() < 2 * kStepFewest) return steps;
  const std::vector<double> delays = level_delays(samples);
  find_in(delays, 0, static_cast<double>(resolution_ns), steps);
  return steps;
}

}  // namespace lw::dissect
