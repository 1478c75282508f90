// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "core/time.h"
#include "nic/device_clock.h"

namespace lw::nic {

/// Writes send times into frames (RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP).
class TimedSending {
 public:
  /// `field` and `flag` come from rte_mbuf_dyn_tx_timestamp_register(); `clock` is started.
  TimedSending(int field, std::uint64_t flag, DeviceClock clock)
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
  DeviceClock clock_;
};

}  // namespace lw::nic
