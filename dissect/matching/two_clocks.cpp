// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/two_clocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ranges>

#include "capture/record.h"

namespace lw::dissect {

double ClockFit::seconds_of(const CaptureRecord& far) const noexcept {
  const auto since =
      capture::stamp_difference(instant_from_ns(far.stamp_ns), instant_from_ns(begin_ns_));
  return static_cast<double>(since.count()) / 1e9;
}

double ClockFit::difference_of(const CaptureRecord& near, const CaptureRecord& far) const noexcept {
  const auto beyond = capture::stamp_difference(instant_from_ns(far_minus_near(near, far)),
                                                instant_from_ns(base_ns_));
  return static_cast<double>(beyond.count());
}

/// Returns the edge of the lower convex hull at the points' mean time: of all lines below the
/// points, it has the smallest sum of distances. (S. Moon, P. Skelly, D. Towsley 1999) Sorts the
/// points.
std::optional<ClockFit::Line> ClockFit::lower_edge(std::vector<Point>& points) {
  if (points.empty()) return std::nullopt;
  std::ranges::sort(points, [](const Point& a, const Point& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.ns < b.ns;
  });
  double mean = 0;
  for (const Point& p : points) mean += p.seconds / static_cast<double>(points.size());
  std::vector<Point> hull;
  for (const Point& p : points) {
    if (!hull.empty() && hull.back().seconds == p.seconds) continue;
    const auto is_above = [&](const Point& a, const Point& b) {
      return (b.ns - a.ns) * (p.seconds - a.seconds) >= (p.ns - a.ns) * (b.seconds - a.seconds);
    };
    while (hull.size() >= 2 && is_above(hull[hull.size() - 2], hull.back())) hull.pop_back();
    hull.push_back(p);
  }
  if (hull.size() == 1) return Line{hull[0].ns, 0};
  const auto right = std::ranges::find_if(hull.begin() + 1, hull.end() - 1,
                                          [&](const Point& p) { return p.seconds >= mean; });
  const Point &a = *(right - 1), &b = *right;
  const double slope = (b.ns - a.ns) / (b.seconds - a.seconds);
  return Line{a.ns - slope * a.seconds, slope};
}

double ClockFit::least(const std::vector<Point>& points) {
  return std::ranges::min_element(points, {}, &Point::ns)->ns;
}

/// How far the third-nearest point is above a line: a line through such points may be as wrong.
double ClockFit::slack(const std::vector<Point>& points, const Line& line) {
  std::array<double, 3> nearest;  // in their order
  nearest.fill(std::numeric_limits<double>::infinity());
  for (const Point& p : points) {
    const double above = p.ns - line.at(p.seconds);
    if (above >= nearest.back()) continue;
    nearest.back() = above;
    std::ranges::sort(nearest);
  }
  return std::max(nearest[std::min(nearest.size(), points.size()) - 1], 0.0);
}

void ClockFit::add_uncertainty(const std::vector<Point>& there, const std::vector<Point>& back,
                               double resolution) {
  const double wrong = resolution + (slack(there, *lines_[1]) + slack(back, *lines_[0])) / 2;
  double last = 0;
  for (const auto* points : {&there, &back})
    for (const Point& p : *points) last = std::max(last, p.seconds);
  // Both ends of an edge may be as wrong, in opposite directions.
  if (last > 0) slope_uncertainty_ = std::max(slope_uncertainty_, 2 * wrong / last);
  offset_uncertainty_ = wrong + slope_uncertainty_ * last / 2;
}

ClockFit::ClockFit(Records near, Records far, const Matching& matching, std::uint32_t from,
                   std::uint32_t to) {
  const auto is_used = [&](const Match& m) {
    return m.certain && !m.changed && m.far >= from && m.far < to;
  };
  const auto first = std::ranges::find_if(matching.matches, is_used);
  if (first == matching.matches.end()) return;
  begin_ns_ = far.stamp_ns(first->far);
  std::array<std::size_t, 2> counts{};
  for (const Match& m : matching.matches | std::views::filter(is_used)) {
    begin_ns_ = std::min(begin_ns_, far.stamp_ns(m.far));
    ++counts[m.goes_far];
  }
  base_ns_ = far_minus_near(near[first->near], far[first->far]);
  std::vector<Point> there, back;  // the way back with the opposite sign
  there.reserve(counts[1]);
  back.reserve(counts[0]);
  for (const Match& m : matching.matches | std::views::filter(is_used)) {
    const CaptureRecord at_far = far[m.far];
    const double difference = difference_of(near[m.near], at_far);
    (m.goes_far ? there : back)
        .push_back({seconds_of(at_far), m.goes_far ? difference : -difference});
  }
  lines_[1] = lower_edge(there);
  lines_[0] = lower_edge(back);
  if (!has_both()) return;
  slope_ = (lines_[1]->slope - lines_[0]->slope) / 2;
  slope_uncertainty_ = std::abs(lines_[1]->slope + lines_[0]->slope) / 2;
  double up = lines_[1]->at_begin, down = lines_[0]->at_begin;
  if (std::abs(drift_ppm()) > kMostDrift && std::abs(slope_) > slope_uncertainty_)
    refused_drift_ppm_ = drift_ppm();
  if (std::abs(slope_) <= slope_uncertainty_ || is_refused()) {
    if (!is_refused()) slope_uncertainty_ += std::abs(slope_);  // what 0 is further away
    slope_ = 0;
    up = least(there);
    down = least(back);
  }
  const std::int64_t resolution = std::max(resolution_of(near), resolution_of(far));
  add_uncertainty(there, back, static_cast<double>(std::min(resolution, kCoarsest)));
  offset_ = static_cast<double>(base_ns_) + (up - down) / 2;
  round_trip_ = up + down;
}

std::int64_t ClockFit::far_ahead_ns(const CaptureRecord& far) const noexcept {
  if (!has_both()) return base_ns_;
  return std::llround(std::clamp(offset_ + slope_ * seconds_of(far), -9e18, 9e18));
}

std::int64_t ClockFit::delay_ns(const CaptureRecord& near, const CaptureRecord& far,
                                bool goes_far) const noexcept {
  const double seconds = seconds_of(far), difference = difference_of(near, far);
  const auto rounded = [](double ns) { return std::llround(std::clamp(ns, -9e18, 9e18)); };
  if (has_both()) {
    const double clocks = offset_ - static_cast<double>(base_ns_) + slope_ * seconds;
    return rounded(goes_far ? difference - clocks : clocks - difference);
  }
  const std::optional<Line>& line = lines_[goes_far ? 1 : 0];
  if (!line) return 0;
  return rounded((goes_far ? difference : -difference) - line->at(seconds));
}

}  // namespace lw::dissect
