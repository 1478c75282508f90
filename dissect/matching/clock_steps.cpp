// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/clock_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

namespace lw::dissect {
namespace {

constexpr std::int64_t kLeastStep = 20'000;  // ns
// Differences are limited to 18 years, so that sums of a few fit: stamps may be made up.
constexpr std::int64_t kLargest = std::int64_t{1} << 59;
constexpr std::size_t kFewest = 4;  // matches of a window at a capture's end

/// Far's stamps minus near's, of the matches of one direction.
struct Series {
  std::vector<std::int64_t> differences;
  std::vector<std::uint32_t> far_orders;
};

struct Level {
  std::int64_t median = 0, spread = 0;  // ns; spread: of the middle two thirds
};

std::optional<Level> level_of(std::span<const std::int64_t> values) {
  if (values.size() < kFewest) return std::nullopt;
  std::vector<std::int64_t> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return Level{sorted[sorted.size() / 2],
               sorted[5 * sorted.size() / 6] - sorted[sorted.size() / 6]};
}

struct Change {
  std::int64_t by = 0, spread = 0;  // ns
};

/// The change of a series at `index`, between the windows before and behind it.
std::optional<Change> change_at(const Series& series, std::size_t index) {
  const std::span all(series.differences);
  const auto before =
      level_of(all.subspan(index - std::min(index, kClockWindow), std::min(index, kClockWindow)));
  const auto behind =
      level_of(all.subspan(index, std::min(kClockWindow, series.differences.size() - index)));
  if (!before || !behind) return std::nullopt;
  return Change{behind->median - before->median, std::max(before->spread, behind->spread)};
}

bool is_step(const Change& one, const Change& other) noexcept {
  const std::int64_t spread = std::max(one.spread, other.spread);
  const std::int64_t least = std::min(std::abs(one.by), std::abs(other.by));
  return (one.by > 0) == (other.by > 0) && least >= std::max(kLeastStep, 4 * spread) &&
         std::abs(one.by - other.by) <= least / 4 + 2 * spread;
}

std::array<Series, 2> series_of(Records near, Records far, const Matching& matching) {
  std::vector<const Match*> matches;
  for (const Match& m : matching.matches)
    if (m.certain && !m.changed) matches.push_back(&m);
  std::ranges::sort(matches, {}, &Match::far);
  std::array<Series, 2> series;
  for (const Match* m : matches) {
    Series& own = series[m->goes_far ? 1 : 0];
    own.differences.push_back(
        std::clamp(far_minus_near(near[m->near], far[m->far]), -kLargest, kLargest));
    own.far_orders.push_back(m->far);
  }
  return series;
}

}  // namespace

std::vector<CaptureRecord> without_steps(Records far, const std::vector<ClockStep>& steps) {
  std::vector<CaptureRecord> records(far.begin(), far.end());
  for (CaptureRecord& record : records)
    for (const ClockStep& step : steps)
      if (step.far_order <= record.order)
        record.stamp_ns = stamp_difference(record.stamp_ns, step.by_ns);
  return records;
}

std::vector<ClockStep> find_clock_steps(Records near, Records far, const Matching& matching) {
  const auto [back, there] = series_of(near, far, matching);
  std::vector<ClockStep> steps;
  for (std::size_t i = 1; i < there.differences.size() && steps.size() < kMostSteps; ++i) {
    const std::int64_t jump = there.differences[i] / 2 - there.differences[i - 1] / 2;
    if (std::abs(jump) < kLeastStep / 4) continue;
    const auto own = change_at(there, i);
    if (!own || std::abs(own->by) < kLeastStep) continue;
    // The other direction's first frame behind the step: between these two, or next to them.
    const auto place = std::ranges::lower_bound(back.far_orders, there.far_orders[i - 1]);
    const auto first = static_cast<std::size_t>(place - back.far_orders.begin());
    for (std::size_t k = first; k < back.far_orders.size(); ++k) {
      const auto other = change_at(back, k);
      const bool found = other && is_step(*own, *other);
      if (found) {
        const std::int64_t moved =
            k == 0 ? 0 : std::abs(back.differences[k] - back.differences[k - 1]);
        if (2 * moved < std::abs(own->by)) continue;
        const std::uint32_t order = std::min(there.far_orders[i], back.far_orders[k]);
        steps.push_back({order, far[order].number, own->by / 2 + other->by / 2});
        i += kFewest;
        break;
      }
      if (back.far_orders[k] > there.far_orders[i]) break;
    }
  }
  return steps;
}

}  // namespace lw::dissect
