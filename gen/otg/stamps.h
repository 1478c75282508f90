// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/time.h"
#include "nic/stamp_clock.h"
#include "wire/signature.h"

namespace lw::gen::otg {

/// Latencies of packets, from their sending to their arrival.
struct LatencyOfPackets {
  std::uint64_t packets = 0;
  Duration sum{}, least = Duration::max(), most{};

  void add(Duration took) noexcept {
    ++packets;
    sum += took;
    least = std::min(least, took);
    most = std::max(most, took);
  }
};

/// A signature of a packet that is sent `now`, of the machine's clock.
inline wire::SignatureFields signature_of(std::uint32_t flow, std::uint64_t sequence,
                                          std::uint16_t run, const nic::StampClock& clock,
                                          Instant now) noexcept {
  const Instant stamped = now + clock.offset();
  return {.flow = flow,
          .sequence = sequence,
          .send_time_ns = static_cast<std::uint64_t>(stamped.time_since_epoch().count()),
          .run = run,
          .clock = clock.id()};
}

/// The latency of a packet that arrived `now`; nothing if its sender has another clock.
inline std::optional<Duration> latency_of(const wire::SignatureFields& signature,
                                          const nic::StampClock& clock, Instant now) noexcept {
  if (signature.clock != clock.id()) return std::nullopt;
  const Instant arrived = now + clock.offset();
  return arrived.time_since_epoch() - Duration{static_cast<std::int64_t>(signature.send_time_ns)};
}

}  // namespace lw::gen::otg
