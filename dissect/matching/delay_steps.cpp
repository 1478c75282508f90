// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/delay_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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

/// The values by their ranks, as a normal distribution has them: whatever the distribution of the
/// delays, and few long ones do not count more. Equal values share a score. Ranks are those among
/// at most kSample of the values.
std::vector<double> normal_scores(Levels delays) {
  constexpr std::size_t kSample = 4096;
  const std::size_t stride = delays.size() / kSample + 1;
  std::vector<double> sample;
  for (std::size_t i = 0; i < delays.size(); i += stride) sample.push_back(delays[i]);
  std::ranges::sort(sample);
  // By twice the rank. Tukey's lambda distribution is within 0.01 of the normal one.
  std::vector<double> of_rank(2 * sample.size() + 1);
  for (std::size_t i = 0; i < of_rank.size(); ++i) {
    constexpr double kLambda = 0.1349;
    const double share = static_cast<double>(i) / static_cast<double>(of_rank.size() - 1);
    of_rank[i] = (std::pow(share, kLambda) - std::pow(1 - share, kLambda)) / 0.1975;
  }
  std::vector<double> scores;
  scores.reserve(delays.size());
  for (const double delay : delays) {
    const auto [first, last] = std::ranges::equal_range(sample, delay);
    scores.push_back(
        of_rank[static_cast<std::size_t>((first - sample.begin()) + (last - sample.begin()))]);
  }
  return scores;
}

/// A place where the delay may step, and by how many standard deviations it does.
struct Jump {
  std::size_t place = 0;
  double deviations = 0;
};

/// The largest jump between the means of the `scale` packets before and behind a place; deviations
/// are those of such jumps at all places, of which a step changes few. `sums`: of the scores before
/// each place.
Jump largest_jump(const std::vector<double>& sums, std::size_t scale) {
  const std::size_t end = sums.size() - scale;  // of the places
  const auto jump_at = [&](std::size_t at) {
    return (sums[at + scale] - 2 * sums[at] + sums[at - scale]) / static_cast<double>(scale);
  };
  std::vector<double> sizes;
  sizes.reserve(end - scale);
  Jump largest{.place = scale};
  for (std::size_t at = scale; at < end; ++at) {
    const double size = std::abs(jump_at(at));
    if (size > largest.deviations) largest = {at, size};
    sizes.push_back(size);
  }
  // Half of the values of a normal distribution are within 0.6745 deviations. Scores of equal
  // delays may have none.
  constexpr double kLeast = 0.05;
  largest.deviations /= std::max(quantile_of(sizes, 0.5) / 0.6745, kLeast);
  return largest;
}

/// Adds places at which the values jump. The fewer places a scale has that are independent, the
/// larger a jump must be.
void add_jumps(std::vector<double> values, std::vector<Jump>& jumps) {
  constexpr std::size_t kLargestScale = 256, kFewestOfScale = 10;
  const std::size_t count = values.size();
  std::vector<double> sums(count + 1);
  std::partial_sum(values.begin(), values.end(), sums.begin() + 1);
  const std::size_t largest = std::min(kLargestScale, count / kFewestOfScale + 1);
  for (std::size_t scale = 1; scale <= largest; scale *= 2) {
    const Jump jump = largest_jump(sums, scale);
    const double share = static_cast<double>(scale) / static_cast<double>(count);
    if (jump.deviations >= kStepDeviations * (1 + 2 * share)) jumps.push_back(jump);
  }
}

/// Where the delay jumps, the clearest first. Scores find small steps among delays of any
/// distribution; the delays themselves find those that are larger than all else. Of very many
/// delays, each n-th is looked at, and a place is that of one of them.
std::vector<Jump> jumps_of(Levels delays) {
  constexpr std::size_t kMostSeen = 1 << 15;
  const std::size_t stride = delays.size() / kMostSeen + 1;
  std::vector<double> seen;
  for (std::size_t i = 0; i < delays.size(); i += stride) seen.push_back(delays[i] - delays[0]);
  std::vector<Jump> jumps;
  add_jumps(normal_scores(seen), jumps);
  add_jumps(std::move(seen), jumps);
  for (Jump& jump : jumps) jump.place *= stride;
  std::ranges::sort(jumps, std::greater{}, &Jump::deviations);
  return jumps;
}

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

/// The place near `place` that divides the delays best: fewest before it are on the far side of the
/// middle between both levels, and fewest behind it on the near side.
std::size_t best_place(Levels delays, std::size_t place) {
  constexpr std::size_t kNear = 64;  // packets
  const std::size_t begin = place - std::min(place, 2 * kNear);
  const std::size_t end = std::min(delays.size(), place + 2 * kNear);
  std::vector<double> left(delays.begin() + static_cast<std::ptrdiff_t>(begin),
                           delays.begin() + static_cast<std::ptrdiff_t>(place));
  std::vector<double> right(delays.begin() + static_cast<std::ptrdiff_t>(place),
                            delays.begin() + static_cast<std::ptrdiff_t>(end));
  const double before = quantile_of(left, 0.5), behind = quantile_of(right, 0.5);
  const double middle = (before + behind) / 2;
  std::ptrdiff_t wrong = 0, fewest = 0;  // less those with everything behind the place
  std::size_t best = begin;
  for (std::size_t i = begin; i < end; ++i) {
    wrong += (delays[i] > middle) == (behind > before) ? 1 : -1;
    if (wrong < fewest) fewest = wrong, best = i + 1;
  }
  return first_beyond(delays, best, behind > before);
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
  const auto moved = [&](double q) { return quantile_of(right, q) - quantile_of(left, q); };
  const double by = moved(0.5);
  const double range = std::max(quantile_of(left, 0.99) - quantile_of(left, 0.01),
                                quantile_of(right, 0.99) - quantile_of(right, 0.01));
  if (std::abs(by) <= 3 * resolution || std::abs(by) < 0.5 * range) return std::nullopt;
  for (const double q : {0.1, 0.9})
    if (std::abs(moved(q) - by) > 0.5 * std::abs(by)) return std::nullopt;
  return DelayStep{place, rounded_ns(by), rounded_ns(range)};
}

/// Finds the steps of a part of the series, which begins at `from`.
void find_in(Levels delays, std::size_t from, double resolution, std::vector<DelayStep>& steps) {
  if (delays.size() < 2 * kStepFewest || steps.size() >= kMostDelaySteps) return;
  for (const Jump& jump : jumps_of(delays)) {
    const std::size_t place = best_place(delays, jump.place);
    const auto step = step_at(delays, place, resolution);
    if (!step) continue;
    find_in(delays.first(place), from, resolution, steps);
    steps.push_back({from + place, step->by_ns, step->range_ns});
    return find_in(delays.subspan(place), from + place, resolution, steps);
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
