// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "analysis/anomaly.h"
#include "analysis/findings/facts.h"
#include "analysis/packet.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// PSNs of requests that were skipped and came later, or that a recovery skipped.
struct Filled {
  Sequence first = 0;
  std::uint64_t packets = 0;  // PSNs
  std::uint64_t frame = 0;    // the frame that showed the gap
  Instant stamp = {};
  bool one_packet = false;        // a READ request, which takes all PSNs
  std::optional<bool> sent = {};  // whether IP identifications show that they were sent
  bool in_row = false;            // as in Sent
  bool asked = false;             // a NAK named its first packet
  bool taken = false;             // the receiver acknowledged them before they came again
  bool reported = false;          // as missing in the capture
  bool begins = false;            // before the first packet of a recovery, which may begin with it
  bool may_be_unasked = false;    // the sender may have repeated others only
};

/// What was known of a packet before it filled a gap: as in Filled.
struct FillSigns {
  bool asked = false, taken = false, reported = false;
};

/// Adds the PSNs of `sent`, which fills a part of `gap`, to `filled`.
void add_filled(std::vector<Filled>& filled, const Sent& gap, const Sent& sent,
                const FillSigns& signs = {});

/// Packets that the sender sends again, from a first one on.
struct Recovery {
  Cause cause{};
  Sequence start = 0, next = 0;
  std::uint64_t packets = 0;
  bool fetches = false;  // it begins with a READ or atomic
  bool in_row = false;   // two of its packets have PSNs in a row: it repeats no single packets
  std::uint64_t first_frame = 0, last_frame = 0, related_frame = 0;
  std::uint16_t first_ip_id = 0;     // of its first packet, also if that one was lost
  Instant first = {}, last = {};     // stamps
  Instant since = {};                // first sign of the loss
  Duration silence{};                // before it
  Waits waits = {};                  // before its first packet
  std::vector<Filled> filled = {};   // lost for the first time
  std::vector<Filled> skipped = {};  // lost once more

  /// Whether a packet that was seen before belongs to the recovery: it is the next packet, or a
  /// later one that comes soon. The packets in between were lost once more. `may_begin`: another
  /// recovery may begin with this packet.
  [[nodiscard]] bool includes(const CapturedPacket& packet, Sequence psn, const Sent& known,
                              bool may_begin) const noexcept;
  /// Whether a timer began it.
  [[nodiscard]] bool is_by_timer() const noexcept {
    return cause == Cause::timeout || cause == Cause::ack_lost;
  }
  /// Whether a timer began it, as the silence before shows.
  [[nodiscard]] bool follows_silence() const noexcept {
    return is_by_timer() && silence >= kShortestTimer;
  }
  /// Whether nothing of it is missing.
  [[nodiscard]] bool is_complete() const noexcept { return filled.empty() && skipped.empty(); }
  /// Whether it repeats all packets up to the newest one, however its sender answers NAKs.
  [[nodiscard]] bool repeats_all() const noexcept { return follows_silence() && in_row; }
  /// Whether the packet after `wait` begins a recovery of its own: a timer began this one, and
  /// the sender waited about as long again.
  [[nodiscard]] bool ends_with(Duration wait) const noexcept;
  /// Continues the recovery at `psn`, after the next packet: those in between were lost once more.
  /// `sent`: as in Filled.
  void skip_to(Sequence psn, const CapturedPacket& packet, std::optional<bool> sent);
  /// Whether the recovery skipped a packet, which was last seen before the recovery.
  [[nodiscard]] bool skips(Sequence psn, const Sent& known) const noexcept;
  /// Whether the recovery skipped a packet.
  [[nodiscard]] bool skips(Sequence psn) const noexcept;
  /// Whether the recovery skipped a packet, or went on behind it because an answer acknowledged it.
  [[nodiscard]] bool is_past(const Sent& known) const noexcept;
  /// Whether a packet filled a gap in the recovery.
  [[nodiscard]] bool fills(Sequence psn) const noexcept;
  /// Removes a packet with `span` PSNs that filled a gap: it was late, not lost. Returns the PSNs
  /// that it belonged to. Requires fills(psn).
  Filled take_filled(Sequence psn, std::uint32_t span);
  /// Removes a skipped packet with `span` PSNs, which comes late. Returns the skipped PSNs that it
  /// belonged to. Requires skips(psn).
  Filled take_skipped(Sequence psn, std::uint32_t span);
};

/// Packets that filled a gap. The next packet shows why.
struct Fill {
  Sequence first = 0, next = 0;
  std::uint64_t packets = 0;
  std::uint64_t first_frame = 0, last_frame = 0;
  Instant first_stamp = {}, last_stamp = {};
  std::uint64_t nak_frame = 0;        // a NAK that asked for it before; 0: none
  std::uint64_t numbers_skipped = 0;  // IP identifications before its first packet
  Duration silence{};                 // before its first packet
  std::vector<Filled> filled = {};
  std::vector<Filled> skipped = {};  // PSNs in between, which were seen before the gap

  /// Adds a packet that fills a part of `gap`.
  void add(const Sent& gap, const Sent& sent);
  /// Whether its newest packet skipped some that were seen before, from `psn` on.
  [[nodiscard]] bool has_jumped_from(Sequence psn) const noexcept;
  /// Removes the newest packet, which jumped from `psn`: it was late. Returns it.
  Fill take_newest(Sequence psn);
  /// Returns the recovery that began with these packets.
  [[nodiscard]] Recovery as_recovery(Cause cause) &&;
};

}  // namespace lw::analysis
