// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lw::dissect {

/// A point of a plot.
struct SeriesPoint {
  std::int64_t time = 0;  // ns since the capture's start
  std::int64_t value = 0;
  std::uint64_t frame = 0;
  std::uint64_t count = 1;  // number of points that it stands for

  friend bool operator==(const SeriesPoint&, const SeriesPoint&) = default;
};

/// Points of a plot in bounded memory. Too many points are divided into groups, each with an
/// interval of time and about equally many points, so that neither silence nor a burst takes all
/// groups. Each group keeps the points with the least and the greatest value; the first and the
/// last point of all stay too. Thinning again doesn't change the extremes.
class ThinSeries {
 public:
  /// Keeps at most `most` points (at least 8), and up to twice as many between two thinnings.
  explicit ThinSeries(std::size_t most) : most_(most) {}

  /// Adds a point. Returns the increase of kept(); negative if points were thinned.
  std::ptrdiff_t add(const SeriesPoint& point);
  /// Number of points added.
  [[nodiscard]] std::uint64_t added() const noexcept { return added_; }
  [[nodiscard]] std::size_t kept() const noexcept { return points_.size(); }
  /// At most `most` points, in the order of their times.
  [[nodiscard]] std::vector<SeriesPoint> points() const;

 private:
  std::size_t most_;
  std::uint64_t added_ = 0;
  std::vector<SeriesPoint> points_;
};

/// Sums over intervals of equal time, from the first addition on. The intervals double when they
/// would be too many.
class IntervalSums {
 public:
  static constexpr std::size_t kMostIntervals = 400;
  /// Number of sums per interval; the caller defines their meaning.
  static constexpr std::size_t kKinds = 3;
  using Sums = std::array<std::uint64_t, kKinds>;

  /// `time`: ns. Times before the first one count at the first. Returns the increase of the number
  /// of intervals; negative if they have doubled.
  std::ptrdiff_t add(std::int64_t time, std::size_t kind, std::uint64_t amount);
  [[nodiscard]] std::int64_t begin() const noexcept { return begin_; }  // ns
  [[nodiscard]] std::int64_t width() const noexcept { return width_; }  // ns
  [[nodiscard]] const std::vector<Sums>& sums() const noexcept { return sums_; }

 private:
  void widen();

  std::int64_t begin_ = 0, width_ = 1000;
  std::vector<Sums> sums_;
};

}  // namespace lw::dissect
