// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/delay_jumps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace lw::dissect {

double quantile_of(std::vector<double>& values, double q) {
  const auto at = values.begin() +
                  static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, at);
  return *at;
}

namespace {

using Values = std::span<const double>;

constexpr std::size_t kFewestBeside = 8;  // packets on either side of a jump

/// The values by their ranks, as a normal distribution has them: whatever the distribution of the
/// delays, and few long ones do not count more. Equal values share a score. Ranks are those among
/// at most kSample of the values.
std::vector<double> normal_scores(Values delays) {
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

/// The sums of the values before each place, relative to the first value.
std::vector<double> sums_of(Values values) {
  std::vector<double> sums(values.size() + 1);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i + 1] = sums[i] + (values[i] - values[0]);
  return sums;
}

/// The standard deviation of normal values around 0, of which a jump changes few: half of them are
/// within 0.6745 deviations.
double deviation_of(std::vector<double> sizes) {
  for (double& size : sizes) size = std::abs(size);
  return quantile_of(sizes, 0.5) / 0.6745;
}

/// The means of `scale` values behind each place less those of so many before it. At the ends of
/// the series, of fewer, and so much smaller that the variance is the same.
class MeanJumps {
 public:
  MeanJumps(Values sums, std::size_t scale) : first_(std::min(scale, kFewestBeside)) {
    const std::size_t count = sums.size() - 1;
    for (std::size_t at = first_; at + first_ <= count; ++at) {
      const std::size_t before = std::min(scale, at), behind = std::min(scale, count - at);
      const auto a = static_cast<double>(before), b = static_cast<double>(behind);
      const double jump = (sums[at + behind] - sums[at]) / b - (sums[at] - sums[at - before]) / a;
      const double smaller = std::sqrt(2 / static_cast<double>(scale) / (1 / a + 1 / b));
      sizes_.push_back(jump * smaller);
    }
  }

  [[nodiscard]] bool empty() const noexcept { return sizes_.empty(); }
  /// The places are from first() up to end().
  [[nodiscard]] std::size_t first() const noexcept { return first_; }
  [[nodiscard]] std::size_t end() const noexcept { return first_ + sizes_.size(); }
  [[nodiscard]] double at(std::size_t place) const noexcept { return sizes_[place - first_]; }
  [[nodiscard]] double deviation() const { return deviation_of(sizes_); }
  /// How often the sign changes, and 1: at most so many of the jumps are independent.
  [[nodiscard]] double independent() const noexcept {
    std::size_t changes = 1;
    for (std::size_t i = 1; i < sizes_.size(); ++i)
      changes += (sizes_[i] > 0) != (sizes_[i - 1] > 0) ? 1 : 0;
    return static_cast<double>(changes);
  }

 private:
  std::size_t first_;
  std::vector<double> sizes_;
};

/// How the jumps of one scale after the other, each twice the one before, vary.
class ScaleNoise {
 public:
  /// `measured`: larger scales are extrapolated.
  ScaleNoise(double least, std::size_t measured) : least_(least), measured_(measured) {}

  void enter(const MeanJumps& jumps, std::size_t scale) {
    is_measured_ = scale <= measured_;
    if (is_measured_) {
      const double next = std::max(jumps.deviation(), least_);
      // Means of independent values vary by less, the longer they are; those of a walk by more.
      growth_ = deviation_ > 0 ? std::clamp(next / deviation_, std::sqrt(0.5), 2.0) : 1;
      deviation_ = next;
      independent_ = jumps.independent();
    } else {
      deviation_ *= growth_;
    }
  }
  [[nodiscard]] double deviation() const noexcept { return deviation_; }
  [[nodiscard]] bool is_measured() const noexcept { return is_measured_; }
  [[nodiscard]] double independent() const noexcept { return independent_; }

 private:
  double least_;
  std::size_t measured_;
  double deviation_ = 0, growth_ = 1, independent_ = 1;
  bool is_measured_ = true;
};

/// Both kinds of jumps at each place, each by its variance.
std::vector<double> combined(const MeanJumps& next, double next_deviation, const MeanJumps& wide,
                             double wide_deviation) {
  std::vector<double> sizes;
  for (std::size_t at = wide.first(); at < wide.end(); ++at)
    sizes.push_back(next.at(at) / (next_deviation * next_deviation) +
                    wide.at(at) / (wide_deviation * wide_deviation));
  return sizes;
}

/// Adds the largest jump of each scale, if it is clear. `least`: below it, values do not vary.
void add_jumps(Values values, double least, std::vector<DelayJump>& jumps) {
  constexpr std::size_t kLargestScale = 256, kMeasured = 20,
                        kExtrapolated = 6;  // parts of a series
  const std::vector<double> sums = sums_of(values);
  const MeanJumps next(sums, 1);
  if (next.empty()) return;
  const double own = std::max(next.deviation(), least), signs = next.independent();
  const std::size_t largest = std::min(kLargestScale, values.size() / kExtrapolated + 1);
  ScaleNoise noise(least, values.size() / kMeasured + 1);
  for (std::size_t scale = 1; scale <= largest; scale *= 2) {
    const MeanJumps wide(sums, scale);
    if (wide.empty()) return;
    noise.enter(wide, scale);
    const std::vector<double> sizes = combined(next, own, wide, noise.deviation());
    const auto at = std::ranges::max_element(sizes, {}, [](double size) { return std::abs(size); });
    const double expected =
        noise.is_measured()
            ? deviation_of(sizes)
            : std::sqrt(1 / (own * own) + 1 / (noise.deviation() * noise.deviation()));
    const double limit = kJumpDeviations * (1 + 10 / signs + 1 / noise.independent());
    const double clearness = std::abs(*at) / (expected * limit);
    if (clearness >= 1)
      jumps.push_back({wide.first() + static_cast<std::size_t>(at - sizes.begin()), clearness});
  }
}

/// Scores find small steps among delays of any distribution; the delays themselves find those that
/// are larger than all else.
std::vector<DelayJump> jumps_among(Values delays) {
  constexpr double kLeast = 0.05;  // scores of equal delays may not vary
  std::vector<DelayJump> jumps;
  add_jumps(normal_scores(delays), kLeast, jumps);
  add_jumps(delays, kLeast, jumps);
  std::ranges::sort(jumps, std::greater{}, &DelayJump::clearness);
  return jumps;
}

/// The values around a place, and where they begin.
std::pair<Values, std::size_t> around(Values values, std::size_t place, std::size_t most) {
  const std::size_t begin = place - std::min(place, most);
  return {values.subspan(begin, std::min(values.size(), place + most) - begin), begin};
}

}  // namespace

std::vector<DelayJump> find_delay_jumps(std::span<const double> delays) {
  constexpr std::size_t kMostSeen = 1 << 15, kNear = 512;
  const std::size_t stride = delays.size() / kMostSeen + 1;
  if (stride == 1) return jumps_among(delays);
  std::vector<double> seen;
  for (std::size_t i = 0; i < delays.size(); i += stride) seen.push_back(delays[i]);
  std::vector<DelayJump> jumps;
  for (const DelayJump& coarse : jumps_among(seen)) {
    const auto [near, begin] = around(delays, coarse.place * stride, kNear + 16 * stride);
    const std::vector<DelayJump> exact = jumps_among(near);
    if (exact.empty()) continue;
    const std::size_t place = begin + exact.front().place;
    if (std::ranges::find(jumps, place, &DelayJump::place) == jumps.end())
      jumps.push_back({place, coarse.clearness});
  }
  return jumps;
}

double growth_at(std::span<const double> delays, std::size_t place) {
  constexpr std::size_t kLargestScale = 128, kNear = 2048;
  const auto [near, begin] = around(delays, place, kNear);
  const std::size_t at = place - begin;
  const std::vector<double> sums = sums_of(near);
  double least = 0, growth = 0;
  for (std::size_t scale = 1; scale <= kLargestScale; scale *= 2) {
    if (at < scale || at + scale > near.size()) break;
    const MeanJumps jumps(sums, scale);
    const double deviation = jumps.empty() ? 0 : jumps.deviation();
    if (scale > 1 && (deviation >= least || 4 * scale > near.size())) continue;
    least = deviation;
    growth = (sums[at + scale] - 2 * sums[at] + sums[at - scale]) / static_cast<double>(scale);
  }
  return growth;
}

}  // namespace lw::dissect
