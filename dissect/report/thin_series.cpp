// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/report/thin_series.h"

#include <algorithm>

namespace lw::dissect {
namespace {

/// Keeps points of a group: the extremes of [first, end), which is in the order of time and not
/// empty.
void keep_extremes(const SeriesPoint* first, const SeriesPoint* end,
                   std::vector<SeriesPoint>& kept) {
  const auto [least, greatest] = std::ranges::minmax_element(first, end, {}, &SeriesPoint::value);
  std::uint64_t count = 0;
  for (const SeriesPoint* at = first; at < end; ++at) count += at->count;
  kept.push_back(*std::min(least, greatest));
  kept.back().count = count;
  if (least == greatest) return;
  kept.back().count = (count + 1) / 2;
  kept.push_back(*std::max(least, greatest));
  kept.back().count = count / 2;
}

/// Sorts `points` by time and thins them to at most `most`. A quarter of `most` is the limit of the
/// intervals of time, and of the shares of equal number; each group keeps two points.
void thin(std::vector<SeriesPoint>& points, std::size_t most) {
  std::ranges::stable_sort(points, {}, &SeriesPoint::time);
  if (points.size() <= most) return;
  const auto groups = static_cast<std::int64_t>(most - 4) / 4;
  const std::int64_t begin = points.front().time;
  const std::int64_t width = (points.back().time - begin) / groups + 1;
  std::uint64_t all = 0, before = 0;
  for (const SeriesPoint& point : points) all += point.count;
  const std::uint64_t share = all / static_cast<std::uint64_t>(groups) + 1;
  std::vector<SeriesPoint> kept{points.front()};
  const SeriesPoint* const last = &points.back();
  for (const SeriesPoint* at = points.data() + 1; at < last;) {
    const std::int64_t interval = (at->time - begin) / width;
    const std::uint64_t number = before / share;
    const SeriesPoint* end = at;
    for (; end < last && (end->time - begin) / width == interval && before / share == number; ++end)
      before += end->count;
    keep_extremes(at, end, kept);
    at = end;
  }
  kept.push_back(points.back());
  points = std::move(kept);
}

}  // namespace

std::ptrdiff_t ThinSeries::add(const SeriesPoint& point) {
  const auto before = static_cast<std::ptrdiff_t>(points_.size());
  ++added_;
  points_.push_back(point);
  if (points_.size() >= 2 * most_) thin(points_, most_);
  return static_cast<std::ptrdiff_t>(points_.size()) - before;
}

std::vector<SeriesPoint> ThinSeries::points() const {
  std::vector<SeriesPoint> all = points_;
  thin(all, most_);
  return all;
}

std::ptrdiff_t IntervalSums::add(std::int64_t time, std::size_t kind, std::uint64_t amount) {
  const auto before = static_cast<std::ptrdiff_t>(sums_.size());
  if (sums_.empty()) begin_ = time;
  const std::int64_t since = std::max<std::int64_t>(time - begin_, 0);
  while (since / width_ >= static_cast<std::int64_t>(kMostIntervals)) widen();
  const auto index = static_cast<std::size_t>(since / width_);
  if (index >= sums_.size()) sums_.resize(index + 1);
  sums_[index][kind] += amount;
  return static_cast<std::ptrdiff_t>(sums_.size()) - before;
}

void IntervalSums::widen() {
  width_ *= 2;
  std::vector<Sums> wide((sums_.size() + 1) / 2);
  for (std::size_t i = 0; i < sums_.size(); ++i)
    for (std::size_t kind = 0; kind < kKinds; ++kind) wide[i / 2][kind] += sums_[i][kind];
  sums_ = std::move(wide);
}

}  // namespace lw::dissect
