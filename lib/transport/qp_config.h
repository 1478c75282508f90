// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"
#include "transport/dcqcn_config.h"
#include "transport/packet.h"
#include "wire/opcode.h"
#include "wire/psn.h"

namespace lw::transport {

/// Space in the send queue of a side that answers messages, beyond those in flight: it may answer
/// the next message although the ACK of its last answer was lost.
inline constexpr std::uint32_t kSpareRequests = 64;

enum class LossRecovery : std::uint8_t {
  go_back_n,         // packets after a gap are sent again
  selective_repeat,  // SEND and WRITE packets after a gap are kept; READs still go back
};

enum class RateControl : std::uint8_t { none, fixed, dcqcn };

/// Configuration of a QP. Defaults are ConnectX's where it has any. What most packets need comes
/// first: it is one cache line.
struct QpConfig {
  wire::Transport transport = wire::Transport::rc;  // rc, uc or ud
  /// Payload of a packet that is not the last of its message: a path MTU, or between our own
  /// endpoints any other.
  std::uint32_t mtu = 4096;
  std::uint32_t qpn = 0, dest_qpn = 0;  // 24 bits
  std::uint16_t host = 0, dest_host = 0;
  wire::Psn send_psn, receive_psn;  // the first of each stream

  // Windows. Each alone can hold back the next message or packet.
  std::uint32_t tx_depth = 128;             // posted and not completed
  std::uint32_t max_outstanding_wqe = 128;  // begun and not acknowledged
  std::uint32_t max_rd_atomic = 16;         // READs and atomics among them
  /// READs and atomics that a responder answers at once; it refuses one more with a NAK (IBTA
  /// vol. 1, 9.7.4.1). 0: any number.
  std::uint32_t max_dest_rd_atomic = 0;
  std::uint32_t psn_window = 1u << 23;  // PSNs not acknowledged, <= 2^23 (IBTA 9.7.2)
  /// Whether SENDs wait for credits that the responder's ACKs announce. (IBTA vol. 1, 9.7.7.2)
  bool end_to_end_credits = false;
  /// The responder never lacks a receive; the bytes of SENDs are dropped.
  bool endless_receives = false;
  /// Reports a WRITE's arrival as a completion, for applications that poll memory.
  bool report_writes = false;
  /// Reports the arrival of a READ or an atomic as a completion; of a READ before its data is read,
  /// for applications that produce the data then.
  bool report_fetches = false;

  /// AckReq is set on a message's last packet and on each N-th packet; 0: on the last only.
  std::uint32_t ack_every = 64;
  /// Whether a newer ACK replaces an ACK that is still queued.
  bool coalesce_acks = true;

  // Timeouts and retries.
  std::uint8_t timeout = 14;     // 4.096 us x 2^timeout; 0: unlimited (IBTA vol. 1, 9.9.2.1.1)
  std::uint8_t retry_count = 7;  // 0..7
  std::uint8_t rnr_retry = 7;    // 0..7; 7: unlimited
  std::uint8_t rnr_timer = 12;   // RNR timer code that the responder sends: 0..31
  /// The retransmission timer follows the measured round trip (see RetryTimer), up to `timeout`.
  bool adaptive_retransmission = false;
  LossRecovery recovery = LossRecovery::go_back_n;
  /// From the arrival of a NAK of a gap in the PSNs until the requester retransmits; go-back-N.
  Duration nak_reaction{};
  std::uint32_t q_key = 0x11111111;          // UD
  std::uint32_t reorder_packets = 1u << 16;  // selective repeat: most packets kept after gaps

  /// Least time from the last packet of a request to the first of the next one, begin to begin.
  Duration message_gap{};

  // Congestion.
  RateControl rate_control = RateControl::none;
  double rate_bps = 0;  // fixed: the limit; dcqcn: the link rate. Counts bytes on the wire
  /// dcqcn: rate_bps is less than the link's, so packets are paced before the first CNP, too.
  bool below_link_rate = false;
  /// Marked packets make CNPs also without DCQCN: NICs have a notification point of their own.
  bool notifies = false;
  DcqcnConfig dcqcn;
};

/// Sets the fields common to all packets of a QP, source and destination, and clears the others.
inline void set_headers(Packet& packet, const QpConfig& config) noexcept {
  packet = Packet{};
  packet.dest_qp = config.dest_qpn;
  packet.source_qp = config.qpn;
  packet.from_host = config.host;
  packet.to_host = config.dest_host;
}

/// 4.096 us x 2^exponent; exponent 0..31.
constexpr Duration transport_timeout(std::uint8_t exponent) noexcept {
  return Duration{std::int64_t{4096} << exponent};
}

/// No time: a timer that isn't set.
inline constexpr Instant kNever = Instant::max();

}  // namespace lw::transport
