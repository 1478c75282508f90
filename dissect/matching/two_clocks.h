// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "dissect/matching/matching.h"

namespace lw::dissect {

/// The clocks of two capture points, estimated from the frames between them.
///
/// The shortest delays of each direction lie on a line over time: the lower edge of all points
/// (time at the far point, difference of the stamps). Its slope is the drift, and its height the
/// shortest delay plus or minus the offset between the clocks. With both directions, the offset
/// follows from the assumption that the shortest delays of both are equal; with one, only the
/// variation above the line is known.
class ClockFit {
 public:
  /// `matching` holds both directions of the captures. The matches with orders at far from `from`
  /// up to `to` count.
  ClockFit(Records near, Records far, const Matching& matching, std::uint32_t from = 0,
           std::uint32_t to = ~0U);

  /// Whether both directions have frames with a delay. If not, only the variation is known.
  [[nodiscard]] bool has_both() const noexcept { return lines_[0] && lines_[1]; }
  /// The far clock minus the near clock in ns at the first frame. Requires has_both().
  [[nodiscard]] double offset_ns() const noexcept { return offset_; }
  /// Whether the stamps do not fit two clocks: the drift that they show is more than kMostDrift.
  /// Then no delay is known.
  [[nodiscard]] bool is_refused() const noexcept { return refused_drift_ppm_ != 0; }
  [[nodiscard]] double refused_drift_ppm() const noexcept { return refused_drift_ppm_; }
  /// Quartz clocks drift by up to 100 ppm, bad ones by 500 (RFC 5905, 4: MAXFREQ is 500 ppm).
  static constexpr double kMostDrift = 1000;  // ppm
  /// Drift of the far clock against the near clock, in parts per million; > 0 if it runs faster. 0
  /// if the two directions differ by more than the drift. Requires has_both().
  [[nodiscard]] double drift_ppm() const noexcept { return slope_ * kPpmOfSlope; }
  /// Half of the difference between the drifts of the two directions, or more: what the stamps'
  /// resolution, and the distance of the shortest delays from the edge, leave over the time between
  /// the first and the last frame.
  [[nodiscard]] double drift_uncertainty_ppm() const noexcept {
    return slope_uncertainty_ * kPpmOfSlope;
  }
  /// Of the offset, from the same and from the drift's uncertainty. Half of the difference between
  /// the shortest delays of the two directions comes on top: frames cannot show it.
  [[nodiscard]] double offset_uncertainty_ns() const noexcept { return offset_uncertainty_; }
  /// What the stamps of a point are multiples of, at most this: coarser ones are taken for those of
  /// frames that were sent at round times.
  static constexpr std::int64_t kCoarsest = 10'000;  // ns
  /// The sum of the shortest delays of both directions in ns; needs no assumption.
  [[nodiscard]] double round_trip_ns() const noexcept { return round_trip_; }

  /// The far clock minus the near clock in ns when far captured a frame; with one direction, that
  /// of the first matched frame and its delay.
  [[nodiscard]] std::int64_t far_ahead_ns(const CaptureRecord& far) const noexcept;
  /// One-way delay in ns by one clock; with one direction, the variation.
  [[nodiscard]] std::int64_t delay_ns(const CaptureRecord& near, const CaptureRecord& far,
                                      bool goes_far) const noexcept;

 private:
  static constexpr double kPpmOfSlope = 1e-3;  // from ns per second

  struct Line {
    double at_begin, slope;  // ns, ns per second
    [[nodiscard]] double at(double seconds) const noexcept { return at_begin + slope * seconds; }
  };
  struct Point {
    double seconds, ns;
  };
  static std::optional<Line> lower_edge(std::vector<Point>& points);
  static double least(const std::vector<Point>& points);
  static double slack(const std::vector<Point>& points, const Line& line);
  void add_uncertainty(const std::vector<Point>& there, const std::vector<Point>& back,
                       double resolution);
  [[nodiscard]] double seconds_of(const CaptureRecord& far) const noexcept;
  [[nodiscard]] double difference_of(const CaptureRecord& near,
                                     const CaptureRecord& far) const noexcept;

  std::int64_t begin_ns_ = 0;      // by the far clock, which gives the time
  std::int64_t base_ns_ = 0;       // of the differences, to keep a double's precision
  std::optional<Line> lines_[2];   // of far minus near: back (upper edge), there
  double offset_ = 0, slope_ = 0;  // of the far clock against the near one, beyond base_ns_
  double slope_uncertainty_ = 0, offset_uncertainty_ = 0, round_trip_ = 0;
  double refused_drift_ppm_ = 0;
};

}  // namespace lw::dissect
