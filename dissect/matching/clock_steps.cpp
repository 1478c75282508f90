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

/// Far's stamps minus near's, of the matches of one direction, in the order of far.
class Series {
 public:
  Series(Records near, Records far, const Matching& matching, bool goes_far)
      : near_(near), far_(far), matches_(matching.matches) {
    for (std::uint32_t i = 0; i < matches_.size(); ++i)
      if (matches_[i].goes_far == goes_far && matches_[i].certain && !matches_[i].changed)
        indices_.push_back(i);
    std::ranges::sort(indices_, {}, [&](std::uint32_t i) { return matches_[i].far; });
  }

  [[nodiscard]] std::size_t size() const noexcept { return indices_.size(); }
  [[nodiscard]] std::uint32_t far_order(std::size_t at) const noexcept {
    return matches_[indices_[at]].far;
  }
  [[nodiscard]] std::int64_t difference(std::size_t at) const noexcept {
    const Match& m = matches_[indices_[at]];
    return std::clamp(stamp_difference(far_.stamp_ns(m.far), near_.stamp_ns(m.near)), -kLargest,
                      kLargest);
  }
  [[nodiscard]] std::vector<std::int64_t> differences(std::size_t begin, std::size_t end) const {
    std::vector<std::int64_t> values;
    for (std::size_t at = begin; at < end; ++at) values.push_back(difference(at));
    return values;
  }
  /// The first one whose order at far is not less.
  [[nodiscard]] std::size_t first_from(std::uint32_t far_order) const {
    const auto at = std::ranges::lower_bound(indices_, far_order, {},
                                             [&](std::uint32_t i) { return matches_[i].far; });
    return static_cast<std::size_t>(at - indices_.begin());
  }

 private:
  Records near_, far_;
  std::span<const Match> matches_;
  std::vector<std::uint32_t> indices_;
};

struct Level {
  std::int64_t median = 0, spread = 0;  // ns; spread: of the middle two thirds
};

std::optional<Level> level_of(std::vector<std::int64_t> sorted) {
  if (sorted.size() < kFewest) return std::nullopt;
  std::ranges::sort(sorted);
  return Level{sorted[sorted.size() / 2],
               sorted[5 * sorted.size() / 6] - sorted[sorted.size() / 6]};
}

struct Change {
  std::int64_t by = 0, spread = 0;  // ns
};

/// The change of a series at `index`, between the windows before and behind it.
std::optional<Change> change_at(const Series& series, std::size_t index) {
  const auto before = level_of(series.differences(index - std::min(index, kClockWindow), index));
  const auto behind =
      level_of(series.differences(index, std::min(index + kClockWindow, series.size())));
  if (!before || !behind) return std::nullopt;
  return Change{behind->median - before->median, std::max(before->spread, behind->spread)};
}

bool is_step(const Change& one, const Change& other) noexcept {
  const std::int64_t spread = std::max(one.spread, other.spread);
  const std::int64_t least = std::min(std::abs(one.by), std::abs(other.by));
  return (one.by > 0) == (other.by > 0) && least >= std::max(kLeastStep, 4 * spread) &&
         std::abs(one.by - other.by) <= least / 4 + 2 * spread;
}

}  // namespace

std::vector<StampStep> stamp_steps(const std::vector<ClockStep>& steps) {
  std::vector<StampStep> list;
  for (const ClockStep& step : steps) list.push_back({step.far_order, step.by_ns});
  return list;
}

std::vector<ClockStep> find_clock_steps(Records near, Records far, const Matching& matching) {
  const Series back(near, far, matching, false), there(near, far, matching, true);
  std::vector<ClockStep> steps;
  for (std::size_t i = 1; i < there.size() && steps.size() < kMostSteps; ++i) {
    const std::int64_t jump = there.difference(i) / 2 - there.difference(i - 1) / 2;
    if (std::abs(jump) < kLeastStep / 4) continue;
    const auto own = change_at(there, i);
    if (!own || std::abs(own->by) < kLeastStep) continue;
    // The other direction's first frame behind the step: between these two, or next to them.
    for (std::size_t k = back.first_from(there.far_order(i - 1)); k < back.size(); ++k) {
      const auto other = change_at(back, k);
      const bool found = other && is_step(*own, *other);
      if (found) {
        const std::int64_t moved =
            k == 0 ? 0 : std::abs(back.difference(k) - back.difference(k - 1));
        if (2 * moved < std::abs(own->by)) continue;
        const std::uint32_t order = std::min(there.far_order(i), back.far_order(k));
        steps.push_back({order, far[order].number, own->by / 2 + other->by / 2});
        i += kFewest;
        break;
      }
      if (back.far_order(k) > there.far_order(i)) break;
    }
  }
  return steps;
}

}  // namespace lw::dissect
