// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "core/time.h"

namespace lw::nic {

/// Converts times of the steady clock to ticks of a device's clock. The rates of the clocks differ,
/// so both are read together at intervals.
class SendClock {
 public:
  /// Reads the device's clock, in ticks; nothing if it can't be read.
  using Read = std::function<std::optional<std::uint64_t>()>;
  using Steady = std::function<Instant()>;
  /// `steady`: the clock of the times passed to tick_at().
  SendClock(Read device, Steady steady) : device_(std::move(device)), steady_(std::move(steady)) {}

  /// Measures the device's tick rate with two readings, `apart` from each other. False: the
  /// device's clock can't be read or doesn't advance.
  bool start(Duration apart);
  /// Reads both clocks again, at most every 0.1 s: in that time they drift by less than 50 ns if
  /// the slew changes by 500 ppm.
  void follow(Instant now);
  /// The device's tick at time `at`.
  [[nodiscard]] std::uint64_t tick_at(Instant at) const noexcept {
    const auto ns = static_cast<double>((at - anchor_.at).count());
    return anchor_.tick + static_cast<std::uint64_t>(static_cast<std::int64_t>(ns * ticks_per_ns_));
  }

 private:
  struct Reading {
    Instant at{};
    std::uint64_t tick = 0;
  };
  /// Reads the device's clock between two readings of the steady clock. Returns the mean of these
  /// with the tick.
  [[nodiscard]] std::optional<Reading> read() const;
  bool advance_to(const Reading& reading) noexcept;

  Read device_;
  Steady steady_;
  Reading anchor_;
  double ticks_per_ns_ = 0;
};

/// Writes send times into frames (RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP).
class TimedSending {
 public:
  /// `field` and `flag` come from rte_mbuf_dyn_tx_timestamp_register(); `clock` is started.
  TimedSending(int field, std::uint64_t flag, SendClock clock)
      : field_(field), flag_(flag), clock_(std::move(clock)) {}

  void follow(Instant now) { clock_.follow(now); }
  /// Sets the send time of `frame` to `at`.
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
