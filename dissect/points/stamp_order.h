// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dissect/points/tap_frames.h"

namespace lw::dissect {

/// Whether the order of a capture's frames is that of their stamps, decided from its first frames:
///  - Several queues of a card write a file in turns: each flow is in order, and flows are behind
///    each other. The stamps are right, and the frames are sorted by them.
///  - Two clocks stamp the two directions of a point: answers have earlier stamps than the requests
///    that they answer. The stamps of the answers' direction are moved by a constant.
class StampOrder {
 public:
  /// Stamps of the frames from one address of a pair to the other that are too early.
  struct Skew {
    std::uint32_t point = 0;
    AddressPair addresses{};
    bool back = false;  // from the second address to the first
    Duration early{};   // at least
  };
  static constexpr std::size_t kMostSkews = 1024;  // address pairs
  static constexpr Duration kMostBack = std::chrono::seconds{1};

  StampOrder() = default;
  /// Decides. `point_of`, `file_of`: the capture point and the file of each tap.
  StampOrder(const TapFrames& frames, const std::vector<std::uint32_t>& point_of,
             const std::vector<std::uint32_t>& file_of);

  /// Whether frames must be sorted; otherwise their order is that of the capture.
  [[nodiscard]] bool is_needed() const noexcept { return window_ > Duration{}; }
  /// How much later than a frame another one may come that belongs before it.
  [[nodiscard]] Duration window() const noexcept { return window_; }
  /// The time by which the stamp of a frame from `source` to `destination` is moved.
  [[nodiscard]] Duration moved_by(std::uint32_t point, const std::array<std::byte, 16>& source,
                                  const std::array<std::byte, 16>& destination) const;
  /// What was decided, in sentences; empty: the order is that of the stamps.
  [[nodiscard]] std::string sentence() const;

 private:
  void find_disorder(const TapFrames& frames, const std::vector<std::uint32_t>& point_of,
                     const std::vector<std::uint32_t>& file_of);
  void find_skews(const TapFrames& frames, const std::vector<std::uint32_t>& point_of);

  std::vector<Skew> skews_;
  std::uint64_t behind_ = 0;  // of the first frames: those that belong before an earlier one
  Duration window_{};
};

}  // namespace lw::dissect
