// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"

namespace lw::emulator {

/// The time of a frame on a link: whole nanoseconds, and the part of a further one.
struct LineTime {
  std::uint64_t rate_bps = 0, bytes = 0;
  std::uint64_t whole_ns = 0, rest = 0;  // rest < rate_bps
};

/// When a link has sent its frames, exactly: no error adds up over frames of one rate, and a change
/// of the rate loses less than a billionth of a bit.
/// Rates from 1 kb/s to 10^15 b/s; at most 2 MB a frame.
class LineClock {
 public:
  /// Work is counted in billionths of a bit: a link of r b/s does r of them in a nanosecond.
  static constexpr std::uint64_t kWorkOfByte = 8'000'000'000;

  explicit constexpr LineClock(std::uint64_t rate_bps) noexcept : rate_(rate_bps) {}

  /// Lets the link be idle until `at`, which is not before the end of the last frame.
  constexpr void idle_until(Instant at) noexcept {
    end_ = at;
    rest_ = 0;
  }
  /// The time of a frame of `bytes` at the present rate.
  [[nodiscard]] constexpr LineTime time_of(std::uint64_t bytes) const noexcept {
    const std::uint64_t work = bytes * kWorkOfByte;
    return {rate_, bytes, work / rate_, work % rate_};
  }
  /// Sends a frame on the link directly after the last one, or after the idle time.
  constexpr void send(std::uint64_t bytes) noexcept { send(time_of(bytes)); }
  /// `time` is at the present rate.
  constexpr void send(const LineTime& time) noexcept {
    end_ += Duration{static_cast<Duration::rep>(time.whole_ns)};
    rest_ += time.rest;
    if (rest_ < rate_) return;
    rest_ -= rate_;
    end_ += Duration{1};
  }
  /// Sends the next frames at another rate.
  constexpr void set_rate(std::uint64_t rate_bps) noexcept {
    if (rate_bps == rate_) [[likely]]
      return;
    __extension__ using Wide = unsigned __int128;
    rest_ = static_cast<std::uint64_t>(static_cast<Wide>(rest_) * rate_bps / rate_);
    rate_ = rate_bps;
  }
  /// Sends from `now` on at another rate, also the rest of a frame that has not ended.
  constexpr void change_rate(Instant now, std::uint64_t rate_bps) noexcept {
    const std::uint64_t left =
        ended() <= now ? 0 : static_cast<std::uint64_t>((end_ - now).count()) * rate_ + rest_;
    rate_ = rate_bps;
    if (left == 0) return void(rest_ = 0);
    end_ = now;
    add_work(left);
  }
  /// End of the last frame, rounded down to ns.
  [[nodiscard]] constexpr Instant end() const noexcept { return end_; }
  /// First full nanosecond at which the last frame has ended.
  [[nodiscard]] constexpr Instant ended() const noexcept {
    return end_ + Duration{rest_ > 0 ? 1 : 0};
  }
  [[nodiscard]] constexpr std::uint64_t rate_bps() const noexcept { return rate_; }

 private:
  constexpr void add_work(std::uint64_t work) noexcept {
    end_ += Duration{static_cast<Duration::rep>(work / rate_)};
    rest_ = work % rate_;
  }

  std::uint64_t rate_;
  Instant end_{};
  std::uint64_t rest_ = 0;  // work of the nanosecond in which the last frame ends; below the rate
};

}  // namespace lw::emulator
