// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/time.h"

namespace lw::gen {

/// Decides what an endpoint does in a round without work: poll again, or sleep. A sleep ends about
/// 70 us later, which is nothing beside the way of a far peer's answers, but more than a near one
/// takes: 64 B messages of one QP over a memif fell from 4 to 1.3 M/s. So an endpoint polls for a
/// while after each work if a peer is near.
class Quiet {
 public:
  /// A peer that answers later than this is far: a sleep costs it less than 7 % of its rate.
  static constexpr Duration kNear = std::chrono::milliseconds(1);
  /// For how long an endpoint with a near peer polls after work.
  static constexpr Duration kPatience = std::chrono::microseconds(30);
  /// With as many frames after a sleep the next one may be longer, because they come in a stream.
  static constexpr std::size_t kStream = 16;
  /// After this time without work the sleeps are longer.
  static constexpr Duration kLong = std::chrono::milliseconds(500);

  /// A datagram was sent that its peer answers at once, and one came. The shortest time between
  /// them is how near a peer is. (Of connection management, as only there each side does both.)
  void asked(Instant now) noexcept { asked_ = now; }
  void answered(Instant now) noexcept;

  /// A round with work ended, in which `frames` came.
  void worked(Instant now, std::size_t frames) noexcept {
    work_ = now;
    if (std::exchange(slept_, false)) streams_ = frames >= kStream;
  }
  /// A round without work ended. Returns how long to sleep; 0: poll again.
  [[nodiscard]] Duration rest(Instant now) noexcept;

 private:
  std::optional<Instant> asked_;        // what was not answered yet
  Duration nearest_ = Duration::max();  // the shortest time of an answer
  Instant work_{};                      // the end of the last round with work
  bool slept_ = false;                  // since then
  bool streams_ = false;                // kStream frames came during the last sleep
};

}  // namespace lw::gen
