// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "config/flow/flow_profile.h"
#include "core/chance.h"
#include "core/time.h"
#include "gen/traffic/pacing_step.h"
#include "gen/traffic/work.h"

namespace lw::gen {

/// When a flow's frames are due, counted from the run's start. A burst's frames are due together,
/// at the time of its first; the gap behind it keeps the mean. Time is counted in whole numbers to
/// the 2^-64th of a nanosecond, so rounding doesn't add up.
class Pacer {
 public:
  /// Evenly, from the start. burst >= 1, frames.
  Pacer(const config::Rate& rate, std::uint32_t burst) noexcept;
  /// As the flow says. The QPs of a range begin one behind the other, so that constant ones take
  /// turns. Poisson gaps are drawn from the seed, the flow's name and the burst's number.
  Pacer(const config::Flow& flow, std::uint64_t seed);

  /// When the next frame may go.
  [[nodiscard]] Duration due() const noexcept { return due_; }
  /// Nothing may go any more: `stop_after`.
  [[nodiscard]] bool ended() const noexcept { return due_ >= stop_; }

  /// A frame goes.
  void advance(const FrameWork& work) noexcept {
    count(work);
    const bool whole = burst_ == config::Flow::kWholeMessage;
    if (whole ? !work.ends_message : ++in_burst_ < burst_) return;
    in_burst_ = 0;
    due_ = arrival_ == config::Arrival::poisson ? next_arrival() : span();
  }
  /// The same of one that is a message by itself.
  void advance(std::uint64_t wire_bytes) noexcept { advance(FrameWork{.wire_bytes = wire_bytes}); }

  /// When frames that each do the same `work` are due, as long as that comes by adding.
  struct EvenPace {
    std::uint32_t frames = 1;  // from the next on
    Duration due{0};           // of the first, and of all where they are `together`
    bool together = false;     // else each is due at `end` less a step, as it is then
    FineTime end = 0;          // span() before the first; a step more with each frame
    FineTime step = 0;
  };
  /// At most `most` frames.
  [[nodiscard]] EvenPace even_pace(const FrameWork& work, std::uint32_t most) const noexcept;
  /// advance() that many times: at most even_pace().
  void skip(const FrameWork& work, std::uint32_t frames) noexcept;

  /// Where the last frame's slot ends: when all frames so far are through at the asked rate, at
  /// most 200 years; of Poisson arrivals, when the next is due.
  [[nodiscard]] Duration span() const noexcept {
    if (arrival_ == config::Arrival::poisson) return due_;
    const Duration worked{whole_ns(unfinished_ == 0 ? done_ : with_unfinished())};
    return arrival_ == config::Arrival::constant ? start_ + worked : start_ + stretched(worked);
  }

 private:
  static Duration bounded(long double ns) noexcept {
    return Duration{static_cast<std::int64_t>(std::min<long double>(ns, kLongestNs))};
  }
  void count(const FrameWork& work) noexcept {
    unit_ == config::Rate::Unit::messages ? count_packet(work) : add(units_of(work));
  }
  /// What the rate counts, of a frame; of one of several packets of a message 0, where messages are
  /// counted.
  [[nodiscard]] std::uint64_t units_of(const FrameWork& work) const noexcept {
    using Unit = config::Rate::Unit;
    switch (unit_) {
      case Unit::frames:
        return 1;
      case Unit::goodput:
        return 8 * work.payload_bytes;
      case Unit::messages:
        return work.packets == 1 ? 1 : 0;
      case Unit::wire_bits:
      case Unit::link:
        break;
    }
    return 8 * work.wire_bytes;
  }
  void add(std::uint64_t units) noexcept {
    done_ = std::min(done_ + pacing_time(step_, units), kLongest);
  }
  /// Where messages are counted, packets are parts of one.
  void count_packet(const FrameWork& work) noexcept;
  [[nodiscard]] FineTime with_unfinished() const noexcept;
  /// The gap between two Poisson arrivals is exponential.
  Duration next_arrival() noexcept;
  /// Time in which an on/off flow is on, as it passes with the pauses.
  [[nodiscard]] Duration stretched(Duration worked) const noexcept;

  Duration due_{0};
  Duration stop_ = Duration::max();
  Duration start_{0};
  FineTime done_ = 0;  // what all work so far takes
  FineTime step_;      // what a bit, frame or message takes; of an on/off flow: while it is on
  config::Rate::Unit unit_;
  config::Arrival arrival_ = config::Arrival::constant;
  std::uint32_t burst_;
  std::uint32_t in_burst_ = 0;
  std::uint32_t unfinished_ = 0, packets_ = 1;  // of the message under way, where they are counted
  Duration on_{0}, off_{0};
  std::uint64_t arrivals_ = 0;
  Chance chance_{0, 0};
  long double mean_gap_ns_ = 0, arrived_ns_ = 0;
};

}  // namespace lw::gen
