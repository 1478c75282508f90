// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "core/chance.h"
#include "core/time.h"
#include "gen/flow_stream.h"
#include "profile/flow_profile.h"

namespace lw::gen {

/// When a flow's frames are due, counted from the run's start. A burst's frames are due together,
/// at the time of its first; the gap behind it keeps the mean. Each due time is computed from all
/// that was sent so far, so rounding never adds up.
class Pacer {
 public:
  /// Evenly, from the start. burst >= 1, frames.
  Pacer(const profile::Rate& rate, std::uint32_t burst) noexcept;
  /// As the flow says. The QPs of a range begin one behind the other, so that constant ones take
  /// turns. Poisson gaps are drawn from the seed, the flow's name and the burst's number.
  Pacer(const profile::Flow& flow, std::uint64_t seed);

  /// When the next frame may go.
  [[nodiscard]] Duration due() const noexcept { return due_; }
  /// Nothing may go any more: `stop_after`.
  [[nodiscard]] bool ended() const noexcept { return due_ >= stop_; }

  /// A frame goes.
  void advance(const Work& work) noexcept {
    count(work);
    const bool whole = burst_ == profile::Flow::kWholeMessage;
    if (whole ? !work.ends_message : ++in_burst_ < burst_) return;
    in_burst_ = 0;
    ++bursts_;
    due_ = arrival_ == profile::Arrival::poisson ? next_arrival() : span();
  }
  /// The same of one that is a message by itself.
  void advance(std::uint64_t wire_bytes) noexcept { advance(Work{.wire_bytes = wire_bytes}); }

  /// Where the last frame's slot ends: when all frames so far are through at the asked rate, at
  /// most 200 years; of Poisson arrivals, when the next is due.
  [[nodiscard]] Duration span() const noexcept {
    if (arrival_ == profile::Arrival::poisson) return due_;
    return start_ + stretched(static_cast<long double>(work_done()) * kNsPerSecond / rate_.value);
  }

 private:
  static constexpr long double kNsPerSecond = 1e9L;
  static constexpr long double kLongest = 200.0L * 365 * 86400 * kNsPerSecond;

  static Duration bounded(long double ns) noexcept {
    return Duration{static_cast<std::int64_t>(std::min(ns, kLongest))};
  }
  void count(const Work& work) noexcept;
  [[nodiscard]] long double work_done() const noexcept {
    return static_cast<long double>(work_) + part_of_message_;
  }
  /// The gap between two Poisson arrivals is exponential.
  Duration next_arrival() noexcept;
  /// Time in which an on/off flow is on, as it passes with the pauses.
  [[nodiscard]] Duration stretched(long double ns) const noexcept;

  profile::Rate rate_;  // of an on/off flow: while it is on
  std::uint32_t burst_;
  profile::Arrival arrival_ = profile::Arrival::constant;
  std::uint32_t in_burst_ = 0;
  std::uint64_t bursts_ = 0;
  std::uint64_t work_ = 0;      // bits, frames or messages: 2^64 bits are 42 days at 5 Tb/s
  double part_of_message_ = 0;  // where messages are counted
  std::uint32_t packets_ = 0;   // of the message under way
  Duration start_{0}, due_{0}, on_{0}, off_{0};
  Duration stop_ = Duration::max();
  Chance chance_{0, 0};
  long double mean_gap_ns_ = 0, arrived_ns_ = 0;
};

}  // namespace lw::gen
