// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "core/time.h"

namespace lw::nic {

/// A device's clock as it runs beside the steady one. Devices count ticks of their own (or the
/// nanoseconds of a clock of their own), so both are read together again and again.
class SendClock {
 public:
  /// Now, by the device; nothing when it can't be read.
  using Read = std::function<std::optional<std::uint64_t>()>;
  using Steady = std::function<Instant()>;
  /// `steady` is the clock whose times tick_at() is asked for.
  SendClock(Read device, Steady steady) : device_(std::move(device)), steady_(std::move(steady)) {}

  /// Takes the two readings, `apart` from each other, from which the device's pace is known. False
  /// when its clock can't be read or stands still.
  bool start(Duration apart);
  /// Reads both again where the last time was a tenth of a second ago: what the clocks drift apart
  /// in that time is below 50 ns at 500 ppm of slew that changes.
  void follow(Instant now);
  /// What the device's clock says at a time.
  [[nodiscard]] std::uint64_t tick_at(Instant at) const noexcept {
    const auto ns = static_cast<double>((at - anchor_.at).count());
    return anchor_.tick + static_cast<std::uint64_t>(static_cast<std::int64_t>(ns * ticks_per_ns_));
  }

 private:
  struct Reading {
    Instant at{};
    std::uint64_t tick = 0;
  };
  /// The device between two looks at the steady clock: at their middle.
  [[nodiscard]] std::optional<Reading> read() const;
  bool advance_to(const Reading& reading) noexcept;

  Read device_;
  Steady steady_;
  Reading anchor_;
  double ticks_per_ns_ = 0;
};

/// Tells a device when each frame is to leave (RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP).
class TimedSending {
 public:
  /// `field` and `flag` as rte_mbuf_dyn_tx_timestamp_register() gave them; the clock has started.
  TimedSending(int field, std::uint64_t flag, SendClock clock)
      : field_(field), flag_(flag), clock_(std::move(clock)) {}

  void follow(Instant now) { clock_.follow(now); }
  /// The frame is to leave at `at`.
  void stamp(rte_mbuf* frame, Instant at) const noexcept {
    *RTE_MBUF_DYNFIELD(frame, field_, rte_mbuf_timestamp_t*) = clock_.tick_at(at);
    frame->ol_flags |= flag_;
  }

 private:
  int field_;
  std::uint64_t flag_;
  SendClock clock_;
};

}  // namespace lw::nic
