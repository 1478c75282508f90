// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/figure.h"
#include "dissect/fields/frame_source.h"
#include "dissect/points/stamp_order.h"
#include "dissect/points/tap_groups.h"
#include "dissect/points/view_filter.h"

namespace lw::dissect {

/// A capture point.
struct CapturePointInfo {
  std::string name;               // "eth0", "eth2+eth3", "eth0 of a.pcapng"; may be empty
  std::vector<std::string> taps;  // the names of its interfaces; a number where one has none
  PointBy by = PointBy::one_tap;
  bool is_seen_elsewhere = false;  // its frames are at another point, too
  /// Number of its path, from 1: points of one path saw the same frames at different places. 0: it
  /// is alone, as far as the first frames show, or a program of this suite made the capture.
  std::uint32_t path = 0;
  /// Bits per second of its slowest interface, as the file states them; 0: not stated.
  std::uint64_t link_rate = 0;
  std::vector<RepeatedViews> repeated = {};

  /// What was decided, in a sentence; empty for a point of one tap that saw each frame once.
  [[nodiscard]] std::string sentence() const;
  static const FigureTable& figures();
};

/// The capture points of a capture. By default they are decided from the frames: taps that saw one
/// direction each, or parts of one, are one point; taps that saw the same frames at two places are
/// two (see relation_of()). Interfaces with the same name are otherwise one point. So are
/// interfaces without a name in several files, which are parts of one capture. The names of a
/// recording of roce-impair and of `roce-gen sim` say what their interfaces are: "west" and
/// "east", "client" and "server". Of more than kMostTaps taps only the names are looked at.
class CapturePoints {
 public:
  static constexpr std::size_t kMostTaps = 64;

  /// Decides from the first frames of `source`, which must not have been read; see
  /// FrameSource::preview(). `option`: the text of --points, "eth0+eth1,eth2": points, and the
  /// taps of each, by name, number or file; a tap that it does not name is decided as if there
  /// were no option. "each": each tap is a point, and no frame is a further view. Error: a tap that
  /// is not known (unless `unknown` is given: then it is added there), or named twice.
  static Result<CapturePoints> decide(FrameSource& source, const std::string& option = {},
                                      std::set<std::string>* unknown = nullptr);

  /// Returns the point of the interface of `frame`, of the source that decide() got.
  std::uint32_t of(const CapturedFrame& frame, const FrameSource& source) {
    const std::uint32_t interface = frame.record.interface;
    if (interface < by_tap_.size() && by_tap_[interface]) [[likely]]
      return *by_tap_[interface];
    return add(interface, source);
  }
  /// Whether a frame of `point` is a further view of an earlier one, and is not analysed. Only if
  /// has_repeated_views(); see ViewFilter.
  bool is_further_view(std::uint32_t point, const roce::Frame& frame, Instant stamp) {
    return views_.is_further_view(point, frame, stamp);
  }
  [[nodiscard]] bool has_repeated_views() const noexcept { return views_.is_needed(); }
  [[nodiscard]] std::uint64_t further_views() const noexcept { return views_.further_views(); }

  /// The order in which the frames are analysed.
  [[nodiscard]] const StampOrder& order() const noexcept { return order_; }

  /// The points, by number from 0.
  [[nodiscard]] const std::vector<CapturePointInfo>& points() const noexcept { return points_; }
  [[nodiscard]] const std::string& name(std::uint32_t point) const { return points_[point].name; }
  /// The points of the first path, in the order of their files; empty: no two points saw the same
  /// frames.
  [[nodiscard]] std::vector<std::uint32_t> path() const;
  /// From now on the points of path() are one, which has the number of the first: they are analysed
  /// together.
  void join() { joined_ = path(); }
  /// Whether a point stands for all of a path.
  [[nodiscard]] bool is_joined(std::uint32_t point) const noexcept {
    return !joined_.empty() && joined_.front() == point;
  }
  /// The points that saw what a point saw, if it stands for a path: "near.pcap, far.pcap";
  /// otherwise its name.
  [[nodiscard]] std::string seen_at(std::uint32_t point) const;
  /// What was decided: a sentence for each point that has one, and one about the order.
  [[nodiscard]] std::vector<std::string> sentences() const;

 private:
  /// Returns the point of an interface that was not seen before.
  std::uint32_t add(std::uint32_t interface, const FrameSource& source);
  void add_point(const TapGroup& group, const std::vector<Tap>& taps, const FrameSource& source);
  void add_views(const TapFrames& frames, const std::vector<Tap>& taps);
  void add_order(const TapFrames& frames, const std::vector<Tap>& taps);
  void add_paths(const TapPairs& facts, const std::vector<Tap>& taps);

  std::vector<CapturePointInfo> points_;
  std::vector<std::optional<std::uint32_t>> by_tap_;
  std::vector<std::uint32_t> first_taps_;          // of each point that was decided
  std::map<std::string, std::uint32_t> by_label_;  // the first point with a tap of this label
  std::vector<std::uint32_t> joined_;
  ViewFilter views_;
  StampOrder order_;
};

}  // namespace lw::dissect
