// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "analysis/anomaly.h"
#include "analysis/packet.h"
#include "analysis/sent_log.h"

namespace lw::analysis {

/// A sender's timer is never shorter than this.
inline constexpr Duration kShortestTimer = std::chrono::microseconds{500};

/// PSNs of requests that were skipped and came later, or that a recovery passed over.
struct Filled {
  Sequence first = 0;
  std::uint64_t packets = 0;
  std::uint64_t frame = 0;  // that showed the gap
  Instant stamp = {};
};

/// Adds the PSNs of `sent`, which fills a part of `gap`, to `filled`.
void add_filled(std::vector<Filled>& filled, const Sent& gap, const Sent& sent);

/// Packets that the sender sends again, from one on.
struct Recovery {
  Cause cause{};
  Sequence start = 0, next = 0;
  std::uint64_t packets = 0;
  std::uint64_t first_frame = 0, last_frame = 0, related_frame = 0;
  Instant first = {}, last = {};     // stamps
  Instant since = {};                // first sign of the loss
  std::vector<Filled> filled = {};   // lost for the first time
  std::vector<Filled> skipped = {};  // lost once more

  /// Whether a packet that was seen before belongs to the recovery: it is the next, or one behind
  /// it that comes soon. What is between was lost once more.
  [[nodiscard]] bool includes(const Packet& packet, Sequence psn, const Sent& known) const noexcept;
  /// The recovery goes on at `psn`, behind the next packet: those between were lost once more.
  void skip_to(Sequence psn, const Packet& packet);
  /// Whether a packet, last seen before the recovery, was passed over.
  [[nodiscard]] bool skips(Sequence psn, const Sent& known) const noexcept;
  /// A packet that was passed over, with `span` PSNs, comes late: it is no longer skipped. Returns
  /// what had skipped it. Only if skips(psn).
  Filled take_skipped(Sequence psn, std::uint32_t span);
};

/// Packets that filled a gap; what comes next tells why.
struct Fill {
  Sequence first = 0, next = 0;
  std::uint64_t packets = 0;
  std::uint64_t first_frame = 0, last_frame = 0;
  Instant first_stamp = {}, last_stamp = {};
  std::uint64_t nak_frame = 0;  // a NAK that asked for it before; 0: none
  std::vector<Filled> filled = {};

  /// A packet that fills a part of `gap`.
  void add(const Sent& gap, const Sent& sent);
  /// The recovery that began with these packets.
  [[nodiscard]] Recovery as_recovery(Cause cause) &&;
};

}  // namespace lw::analysis
