// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/delay_steps.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dissect/matching/delay_jumps.h"

namespace lw::dissect {
namespace {

using Levels = std::span<const double>;

/// The slope of a part of the samples by least squares, in ns a ns.
double slope_within(std::span<const DelaySample> samples) {
  const auto n = static_cast<double>(samples.size());
  double t = 0, d = 0, tt = 0, td = 0;
  for (const DelaySample& sample : samples) {
    const auto time = static_cast<double>(stamp_difference(sample.time_ns, samples[0].time_ns));
    const auto delay = static_cast<double>(stamp_difference(sample.delay_ns, samples[0].delay_ns));
    t += time, d += delay, tt += time * time, td += time * delay;
  }
  const double spread = tt - t * t / n;
  return spread > 0 ? (td - t * d / n) / spread : 0;
}

}  // namespace

DelayDrift drift_of(std::span<const DelaySample> samples) {
  constexpr std::size_t kBlocks = 8, kFewestOfBlock = 16;
  const std::size_t size = samples.size() / kBlocks;
  if (size < kFewestOfBlock) return {};
  std::vector<double> slopes;
  for (std::size_t i = 0; i < kBlocks; ++i)
    slopes.push_back(slope_within(samples.subspan(i * size, size)));
  const double slope = quantile_of(slopes, 0.5);
  std::vector<double> distances;
  for (const double one : slopes) distances.push_back(std::abs(one - slope));
  // Of the median of normal values, from the median distance.
  return {slope, 1.4826 * quantile_of(distances, 0.5) * 1.2533 / std::sqrt(kBlocks)};
}

/// Delays without the drift, relative to the first one.
std::vector<double> level_delays(std::span<const DelaySample> samples) {
  constexpr double kErrors = 4;  // as a step may follow from a drift that is left out
  const DelayDrift drift = drift_of(samples);
  const double slope =
      std::abs(drift.slope) < kErrors * drift.error ? 0 : drift.slope;  // in ns a ns
  std::vector<double> delays;
  delays.reserve(samples.size());
  for (const DelaySample& sample : samples)
    delays.push_back(
        static_cast<double>(sample.delay_ns) - static_cast<double>(samples[0].delay_ns) -
        slope * (static_cast<double>(sample.time_ns) - static_cast<double>(samples[0].time_ns)));
  return delays;
}

namespace {

/// The first of the packets up to `place` that are all beyond what delays were before: where a path
/// becomes shorter and packets keep their order, the delay falls over many packets.
std::size_t first_beyond(Levels delays, std::size_t place, bool above) {
  constexpr std::size_t kSlope = 256, kLevel = 200;  // packets
  const std::size_t end = place - std::min(place, kSlope);
  const std::size_t begin = end - std::min(end, kLevel);
  if (end - begin < kStepFewest) return place;
  std::vector<double> level(delays.begin() + static_cast<std::ptrdiff_t>(begin),
                            delays.begin() + static_cast<std::ptrdiff_t>(end));
  const double least = quantile_of(level, 0.01), most = quantile_of(level, 0.99);
  while (place > end && (above ? delays[place - 1] > most : delays[place - 1] < least)) --place;
  return place;
}

/// What the window around a place shows: the step there; nothing: the delay does not move as a
/// whole.
std::optional<DelayStep> step_at(Levels delays, std::size_t place, double resolution) {
  if (place < kStepFewest || delays.size() - place < kStepFewest) return std::nullopt;
  const std::size_t before = std::min(place, kStepWindow);
  const std::size_t behind = std::min(delays.size() - place, kStepWindow);
  std::vector<double> left(delays.begin() + static_cast<std::ptrdiff_t>(place - before),
                           delays.begin() + static_cast<std::ptrdiff_t>(place));
  std::vector<double> right(delays.begin() + static_cast<std::ptrdiff_t>(place),
                            delays.begin() + static_cast<std::ptrdiff_t>(place + behind));
  const double by = growth_at(delays, place);
  const double range = std::max(quantile_of(left, 0.99) - quantile_of(left, 0.01),
                                quantile_of(right, 0.99) - quantile_of(right, 0.01));
  if (std::abs(by) <= 3 * resolution || std::abs(by) < 0.5 * range) return std::nullopt;
  for (const double q : {0.1, 0.5, 0.9})
    if ((quantile_of(right, q) - quantile_of(left, q)) / by < 0.25) return std::nullopt;
  const bool is_sharp = std::abs(delays[place] - delays[place - 1]) > std::abs(by) / 2;
  const std::size_t first = is_sharp ? place : first_beyond(delays, place, by > 0);
  if (first < kStepFewest) return std::nullopt;
  return DelayStep{first, rounded_ns(by), rounded_ns(range)};
}

/// Finds the steps of a part of the series, which begins at `from`.
void find_in(Levels delays, std::size_t from, double resolution, std::vector<DelayStep>& steps) {
  if (delays.size() < 2 * kStepFewest || steps.size() >= kMostDelaySteps) return;
  for (const DelayJump& jump : find_delay_jumps(delays)) {
    const auto step = step_at(delays, jump.place, resolution);
    if (!step) continue;
    find_in(delays.first(step->index), from, resolution, steps);
    steps.push_back({from + step->index, step->by_ns, step->range_ns});
    return find_in(delays.subspan(step->index), from + step->index, resolution, steps);
  }
}

}  // namespace

std::vector<DelayStep> find_delay_steps(std::span<const double> delays,
                                        std::int64_t resolution_ns) {
  std::vector<DelayStep> steps;
  find_in(delays, 0, static_cast<double>(resolution_ns), steps);
  return steps;
}

}  // namespace lw::dissect
