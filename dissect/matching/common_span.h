// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "dissect/matching/matching.h"

namespace lw::dissect {

/// The time that both captures cover. A frame that only one capture holds says something about the
/// path only if the other capture was taken when the frame passed there; frames outside of the
/// common span say something about the captures.
///
/// A frame between two matched ones of its direction passed the other point while that was
/// captured. When others passed it follows from the matched frames: the least and the largest
/// difference of stamps among the first, and among the last, kAtEnd matches.
class CommonSpan {
 public:
  static constexpr std::size_t kAtEnd = 64;

  /// The stamps have no clock step between them. Without a match, everything is within the span.
  CommonSpan(Records near, Records far, const Matching& matching);

  /// Whether the frame, which one point saw, passed the other before its capture began, or after it
  /// ended.
  [[nodiscard]] bool is_outside(const CaptureRecord& frame, bool at_far,
                                bool goes_far) const noexcept;

  [[nodiscard]] bool is_known() const noexcept { return known_; }
  /// Length of the common span; 0: there is none.
  [[nodiscard]] Duration length() const noexcept;
  /// How much later the near capture began, and how much later it ended, than the far one; < 0:
  /// sooner. By the near clock, if the shortest delays of both directions are equal; with one
  /// direction, if its shortest delay is 0.
  [[nodiscard]] Duration near_begins_later() const noexcept { return begins_later_; }
  [[nodiscard]] Duration near_ends_later() const noexcept { return ends_later_; }

 private:
  /// Far's stamp minus near's, in ns.
  struct Range {
    std::int64_t least = 0, most = 0;
  };
  struct Ends {
    std::int64_t first = 0, last = 0;  // stamps
  };
  static Ends ends_of(Records records) noexcept;
  void note_matched(std::size_t way, std::int64_t near_ns, std::int64_t far_ns) noexcept;

  bool known_ = false;
  Ends near_, far_;
  std::array<std::array<Ends, 2>, 2> matched_{};       // by direction, and at near or far
  std::array<std::array<Range, 2>, 2> differences_{};  // by direction (1: to far); begin, end
  Duration begins_later_{}, ends_later_{};
};

}  // namespace lw::dissect
