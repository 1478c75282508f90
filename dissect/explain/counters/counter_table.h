// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lw::dissect {

/// What the rise of a counter shows beside its number.
enum class CounterSign : std::uint8_t {
  none,
  paused,       // the port received pause frames: what it sends to was full
  pauses,       // the port sent pause frames: it was full
  discards,     // the port dropped frames for want of room: it was full
  marks,        // frames came marked Congestion Experienced
  cnps,         // CNPs came from the network
  cnps_sent,    // CNPs were sent for marked frames
  no_receives,  // messages found no receive buffer
  ended,        // connections ended with an error
  refused,      // requests were refused for good
  timeouts,     // the peer did not answer in time
  damaged,      // frames arrived damaged
  link,         // the link failed
};

/// A counter of a device's driver.
struct CounterInfo {
  std::string_view name;
  std::string_view drivers;  // "mlx5", "rxe, mlx5"
  std::string_view what;     // its meaning, in the words of its vendor as far as they are clear
  CounterSign sign = CounterSign::none;
  /// Another counter with the same events: only one of both is named. Empty: none.
  std::string_view same_as = {};
};

/// All known counters. Sources: NVIDIA, "Understanding mlx5 Linux counters and status parameters"
/// and "RDMA counters"; the descriptions of Prometheus' node_exporter; the drivers of Linux 6.11 in
/// drivers/infiniband: hw/bnxt_re/hw_counters.c, hw/irdma/verbs.c, hw/efa/efa_verbs.c,
/// sw/rxe/rxe_hw_counters.c; AWS, "Monitor an Elastic Fabric Adapter"; the InfiniBand
/// specification, vol. 1, 16.1.3 (PortCounters).
std::span<const CounterInfo> known_counters() noexcept;
/// Null: it is not known.
const CounterInfo* find_counter(std::string_view name) noexcept;

/// The name that a driver gives to a counter, for one of node_exporter's metrics, without its
/// prefix
/// ("rnr_nak_retry_packets_received_total"); the metric's own name without "_total" if it is not
/// known.
std::string_view driver_name(std::string_view metric) noexcept;

}  // namespace lw::dissect
