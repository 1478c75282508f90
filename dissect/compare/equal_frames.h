// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace lw::dissect {

/// The delays in ns that occur: of frames without an equal one.
struct DelayRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();

  void add(std::int64_t delay) {
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  /// Wider by a quarter on either side.
  [[nodiscard]] DelayRange widened() const;
  /// Of a known range; the largest number where it is longer.
  [[nodiscard]] std::int64_t width() const {
    std::int64_t width = 0;
    return __builtin_sub_overflow(most, least, &width) ? std::numeric_limits<std::int64_t>::max()
                                                       : width;
  }
  [[nodiscard]] bool known() const { return least <= most; }
  [[nodiscard]] bool has(std::int64_t delay) const { return least <= delay && delay <= most; }
};

/// Matches frames that look alike, which were sent and came at these stamps, in order. Each frame
/// that came is matched with one that was sent a usual delay before. Those for which there is none
/// are matched in match_rest(), or all if no delay is usual: the k-th with the k-th that is left.
class EqualFrames {
 public:
  EqualFrames(std::vector<std::int64_t> sent, std::vector<std::int64_t> came, DelayRange usual)
      : sent_(std::move(sent)), came_(std::move(came)), usual_(usual) {}

  void match_usual();
  void match_rest();

  // Indices of sent and came:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> matched;
  std::vector<std::uint32_t> lost, copies;
  std::vector<std::uint32_t> late;  // that came without a usual delay, and have no match

  /// Where some were lost or copied, an equal frame near in time could be the match instead, unless
  /// it has the same stamp.
  [[nodiscard]] bool is_certain(std::uint32_t sent, std::uint32_t came) const;

 private:
  [[nodiscard]] std::int64_t delay(std::uint32_t sent, std::uint32_t came) const;
  std::vector<std::int64_t> sent_, came_;
  DelayRange usual_;
};

}  // namespace lw::dissect
