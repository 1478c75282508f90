// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dissect/points/tap_frames.h"

namespace lw::dissect {

/// Recognises the further views of a frame that a capture point saw several times, so that each
/// frame is analysed once: the first view counts. Of an address pair without repeated views, each
/// frame counts. Keeps at most kMostWaiting frames whose further views may come.
class ViewFilter {
 public:
  static constexpr std::size_t kMostWaiting = 65'536;

  /// Frames of these addresses come several times at a point.
  void add(std::uint32_t point, const RepeatedViews& views);
  /// Whether there are any; otherwise is_further_view() need not be asked.
  [[nodiscard]] bool is_needed() const noexcept { return !repeated_.empty(); }
  /// Whether the frame, of `point`, is a further view of an earlier one. Call it for each frame in
  /// the order of the capture.
  bool is_further_view(std::uint32_t point, const roce::Frame& frame, Instant stamp);
  /// Number of further views so far.
  [[nodiscard]] std::uint64_t further_views() const noexcept { return further_views_; }

 private:
  using Key = std::pair<std::uint32_t, AddressPair>;
  struct Expected {
    std::uint32_t views = 0;  // of each frame
    Duration apart{};         // at most
  };
  struct Waiting {
    Instant first;           // stamp of the first view
    std::uint32_t left = 0;  // views that are still to come
    std::uint64_t turn = 0;
  };
  void wait(std::uint64_t key, Instant stamp, std::uint32_t left);

  std::map<Key, Expected> repeated_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;         // by identity and point
  std::deque<std::pair<std::uint64_t, std::uint64_t>> turns_;  // keys of waiting_, oldest first
  std::uint64_t turn_ = 0, further_views_ = 0;
};

}  // namespace lw::dissect
