// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "config/flow/profile.h"
#include "core/chance.h"
#include "core/time.h"
#include "wire/ethernet.h"

namespace lw::gen {

/// Time in units of 2^-64 ns.
__extension__ using FineTime = unsigned __int128;

constexpr std::int64_t whole_ns(FineTime time) noexcept {
  return static_cast<std::int64_t>(time >> 64);
}

/// Requires time >= 0.
constexpr FineTime fine(std::chrono::nanoseconds time) noexcept {
  return FineTime{static_cast<std::uint64_t>(time.count())} << 64;
}

/// Longest time that a pacer counts: 200 years. Frames that would be due later are due at this
/// time.
inline constexpr std::int64_t kLongestNs = std::int64_t{200} * 365 * 86400 * 1'000'000'000;
inline constexpr FineTime kLongestPace = FineTime{kLongestNs} << 64;

/// Returns 1e9 / rate in ns, rounded up to 2^-64 ns and at most kLongestPace, so that
/// floor(i * step) = floor(i * 1e9 / rate) for i < 2^64 / rate. Requires a finite rate > 0.
inline FineTime pacing_step(double rate) noexcept {
  constexpr int kMantissa = 53;
  int exponent = 0;
  const double fraction = std::frexp(rate, &exponent);  // rate = fraction * 2^exponent
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, kMantissa));
  // Long division, bit by bit: 1e9 / mantissa * 2^(53 - exponent), with 64 fraction bits.
  const int bits = kMantissa - exponent + 64;
  std::uint64_t rest = 1'000'000'000;  // below the mantissa, which is at least 2^52
  FineTime step = 0;                   // of span(), per frame
  for (int i = 0; i < bits; ++i) {
    rest <<= 1;
    step = step << 1 | (rest >= mantissa ? 1 : 0);
    if (rest >= mantissa) rest -= mantissa;
    if (step >= kLongestPace) return kLongestPace;
  }
  return step + (rest != 0 ? 1 : 0);
}

/// Returns step * count, at most kLongestPace.
inline FineTime pacing_time(FineTime step, std::uint64_t count) noexcept {
  constexpr FineTime kSure = FineTime{1} << 46 << 64;  // no product with 16 bits exceeds
  if (step < kSure && count < 1 << 16) [[likely]]
    return step * count;
  FineTime product;
  return __builtin_mul_overflow(step, FineTime{count}, &product) || product > kLongestPace
             ? kLongestPace
             : product;
}

/// Returns the part of a QP's slot of length `slot` in which the other QPs of its [[flow]] send.
constexpr Duration shared_part(Duration slot, std::uint32_t qps) noexcept {
  return slot - slot / static_cast<std::int64_t>(qps);
}

/// Mean time from one burst of a QP to its next one; 0 if the flow's means are unknown.
Duration mean_gap(const config::Flow& flow);

/// Quantities of a frame that a rate may count.
struct FrameWork {
  std::uint64_t wire_bytes = 0;     // with preamble, FCS and gap
  std::uint64_t payload_bytes = 0;  // without pad
  std::uint32_t packets = 1;        // of its message
  bool ends_message = true;
};

/// Bytes on the wire of a frame of `size` bytes: padded to Ethernet's minimum, with preamble, FCS
/// and the smallest gap.
constexpr std::uint64_t wire_bytes(std::size_t size) noexcept {
  return (size < wire::kEthernetMinimum ? wire::kEthernetMinimum : size) + wire::kEthernetOverhead;
}

/// Computes due times of a flow's frames, from the run's start. Frames of a burst are due together;
/// the gap after the burst keeps the mean rate. Time is an integer in units of 2^-64 ns, so that
/// rounding errors don't accumulate.
class Pacer {
 public:
  /// Constant gaps, from time 0. `burst`: frames per burst, at least 1.
  Pacer(const config::Rate& rate, std::uint32_t burst) noexcept;
  /// Rate and arrival process of `flow`. The starts of a range's QPs are evenly spread over one
  /// gap. Poisson gaps are drawn from the seed, the flow's name and the burst's number.
  Pacer(const config::Flow& flow, std::uint64_t seed);

  /// Due time of the next frame.
  [[nodiscard]] Duration due() const noexcept { return due_; }
  /// True if `stop_after` is reached.
  [[nodiscard]] bool ended() const noexcept { return due_ >= stop_; }

  /// Counts the next frame as sent.
  void advance(const FrameWork& work) noexcept {
    count(work);
    const bool whole = burst_ == config::Flow::kWholeMessage;
    if (whole ? !work.ends_message : ++in_burst_ < burst_) return;
    in_burst_ = 0;
    due_ = arrival_ == config::ArrivalProcess::poisson ? next_arrival() : span();
  }
  /// Like advance() above, for a frame that is a whole message.
  void advance(std::uint64_t wire_bytes) noexcept { advance(FrameWork{.wire_bytes = wire_bytes}); }

  /// Due times of consecutive frames of equal `work`, as far as they follow by addition.
  struct EvenPace {
    std::uint32_t frames = 1;  // including the next one
    Duration due{0};           // of the first frame, or of all if `together`
    bool together = false;     // else frame i is due at end + i * step
    FineTime end = 0;          // span() before the first frame
    FineTime step = 0;         // of span(), per frame
  };
  /// Returns at most `most` frames.
  [[nodiscard]] EvenPace even_pace(const FrameWork& work, std::uint32_t most) const noexcept;
  /// Calls advance() `frames` times; at most even_pace().frames.
  void skip(const FrameWork& work, std::uint32_t frames) noexcept;

  /// End of the last frame's slot: the time that all frames so far take at the configured rate, at
  /// most 200 years; for Poisson arrivals, the due time of the next frame.
  [[nodiscard]] Duration span() const noexcept {
    if (arrival_ == config::ArrivalProcess::poisson) return due_;
    const Duration worked{whole_ns(unfinished_ == 0 ? done_ : with_unfinished())};
    return arrival_ == config::ArrivalProcess::constant ? start_ + worked
                                                        : start_ + stretched(worked);
  }

 private:
  static Duration bounded(long double ns) noexcept {
    return Duration{static_cast<std::int64_t>(std::min<long double>(ns, kLongestNs))};
  }
  void count(const FrameWork& work) noexcept {
    unit_ == config::Rate::Unit::messages ? count_packet(work) : add(units_of(work));
  }
  /// Units of the rate that a frame counts for; 0 for a packet of a longer message if messages are
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
    done_ = std::min(done_ + pacing_time(step_, units), kLongestPace);
  }
  /// For a rate in messages: a packet is a fraction of its message.
  void count_packet(const FrameWork& work) noexcept;
  [[nodiscard]] FineTime with_unfinished() const noexcept;
  /// Draws an exponential gap.
  Duration next_arrival() noexcept;
  /// Converts time in which an on/off flow is on to time that includes the pauses.
  [[nodiscard]] Duration stretched(Duration worked) const noexcept;

  Duration due_{0};
  Duration stop_ = Duration::max();
  Duration start_{0};
  FineTime done_ = 0;  // time that all work so far takes
  FineTime step_;      // per bit, frame or message; for an on/off flow: while it is on
  config::Rate::Unit unit_;
  config::ArrivalProcess arrival_ = config::ArrivalProcess::constant;
  std::uint32_t burst_;
  std::uint32_t in_burst_ = 0;
  std::uint32_t unfinished_ = 0, packets_ = 1;  // of the current message, for a rate in messages
  Duration on_{0}, off_{0};
  std::uint64_t arrivals_ = 0;
  Chance chance_{0, 0};
  long double mean_gap_ns_ = 0, arrived_ns_ = 0;
};

}  // namespace lw::gen
