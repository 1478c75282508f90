// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace lw::dissect {

/// Range of the delays of frames that have no equal frame, in ns.
struct DelayRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();

  void add(std::int64_t delay) {
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  /// The range, extended by a quarter of its width on either side.
  [[nodiscard]] DelayRange widened() const;
  /// Width of a known range; the largest number if it is greater.
  [[nodiscard]] std::int64_t width() const {
    std::int64_t width = 0;
    return __builtin_sub_overflow(most, least, &width) ? std::numeric_limits<std::int64_t>::max()
                                                       : width;
  }
  [[nodiscard]] bool known() const { return least <= most; }
  [[nodiscard]] bool has(std::int64_t delay) const { return least <= delay && delay <= most; }
};

/// Matches frames that look alike, by their stamps in order. Each frame that came is matched with a
/// frame that was sent a usual delay before. match_rest() matches the k-th of those left with the
/// k-th left at the other side; if no usual delay is known, it matches all of them.
class EqualFrames {
 public:
  EqualFrames(std::vector<std::int64_t> sent, std::vector<std::int64_t> came, DelayRange usual)
      : sent_(std::move(sent)), came_(std::move(came)), usual_(usual) {}

  void match_usual();
  void match_rest();

  // Indices of sent and came:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> matched;
  std::vector<std::uint32_t> lost, copies;
  std::vector<std::uint32_t> late;  // came without a usual delay, and have no match

  /// Whether no other match is possible. If some frames were lost or copied, an equal frame near in
  /// time could be the match instead, unless it has the same stamp.
  [[nodiscard]] bool is_certain(std::uint32_t sent, std::uint32_t came) const;

 private:
  [[nodiscard]] std::int64_t delay(std::uint32_t sent, std::uint32_t came) const;
  std::vector<std::int64_t> sent_, came_;
  DelayRange usual_;
};

}  // namespace lw::dissect
