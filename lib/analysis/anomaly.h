// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/time.h"
#include "wire/opcode.h"

namespace lw::analysis {

/// What is unusual about some packets of a connection.
enum class AnomalyKind : std::uint8_t {
  psn_gap,                // PSNs that the capture skips
  lost_after_capture,     // captured, but missing at the receiver
  out_of_order,           // a packet that comes after a later one, for the first time
  duplicate,              // a copy made by the path
  retransmission,         // one recovery: packets that the sender sends again
  nak,                    // the receiver refuses or misses a packet
  rnr_nak,                // the receiver has no receive buffer posted
  psn_reused,             // the PSN of another request
  ack_of_unsent,          // an acknowledgement of a PSN that was not sent before
  unanswered,             // requests without an answer at the end of the capture
  retry_storm,            // the same packet sent for at least the fourth time
  stall,                  // requests outstanding, and no packet for long
  read_span,              // a READ response with another number of packets than the MTU gives
  bad_icrc,               // a packet with a wrong ICRC: the receiver drops it
  no_icrcs,               // no packet of the flow has a valid ICRC
  malformed,              // lengths, pads or order of opcodes that the specification forbids
  p_key,                  // another partition key than the flow's first packet
  ce_without_cnp,         // CE marks, but no CNP to the sender
  cnp_without_ce,         // CNPs, but no CE mark in the capture
  pause,                  // pause frames, of a link or of a priority: a port was full
  window_plateau,         // a limit of outstanding requests that was reached repeatedly
  wrong_icrcs,            // all of a sender are wrong: its packets are dropped
  wrong_answer,           // an answer that no request allows: its requester does not take it
  trimmed,                // a packet whose end a switch has cut off, as its queue was full
  connect_rejected,       // a connection request that was refused (REJ)
  connect_unanswered,     // a connection request (REQ) without an answer
  connect_unconfirmed,    // a reply (REP) to one, and neither RTU nor a packet of the connection
  disconnected,           // one end has disconnected (DREQ), and requests were open
  disconnect_unanswered,  // DREQs without an answer
  icmp_refused,           // ICMP messages about packets that were not passed on
  address_unresolved,     // requests for the link address of a peer, without an answer
};

/// Cause of an anomaly, or the place where it happened.
enum class Cause : std::uint8_t {
  none,
  lost_before_capture,  // sent, and did not reach the capture point
  missing_in_capture,   // the receiver acknowledged it: the path has carried it
  before_capture,       // sent before the capture began
  not_sent,             // the sender skipped it: it was acknowledged
  lost_behind,          // captured, and did not reach the receiver
  reordered_behind,     // captured, and overtaken on its way to the receiver
  sequence_nak,         // a NAK "PSN sequence error"
  receiver_not_ready,   // an RNR NAK
  timeout,              // no NAK before it
  nak_lost,             // a timeout, though the receiver sent a NAK: it did not arrive
  response_lost,        // a READ's response has a gap, so the rest is asked for again
  ack_lost,             // the packets were acknowledged before: the ACK did not arrive
  reordered,            // the packet was late, not lost: a spurious retransmission
  full_link,            // a link of the path carries no more: a queue stands before it
  timer_too_short,      // the sender's timer is shorter than the round trip
  peer_stopped,         // the other end answers no more
  request_copied,       // of a response: the path copied its request
  request_resent,       // of a response: its request was sent again
  path_copy,            // the path copied it
  rnr_exhausted,        // the receiver refused with RNR NAKs until the retries were used up
  fatal_nak,            // a NAK after which a QP is in the error state
  answer_wrong,         // the responder answered, and the requester does not take the answer
  trimmed,              // a switch has cut off its data
  lost_between,         // lost between two capture points: one has it, the next one does not
};

/// How many explanations the capture leaves.
enum class Certainty : std::uint8_t {
  certain,  // one: the anomaly's kind and cause
  either,   // two or three: the alternatives
  unknown,  // more, or none
};

/// What an anomaly may be.
struct Hypothesis {
  AnomalyKind kind{};
  Cause cause{};
  friend auto operator<=>(const Hypothesis&, const Hypothesis&) = default;
};

/// Up to three hypotheses, the likeliest first.
class Hypotheses {
 public:
  static constexpr std::size_t kMost = 3;
  constexpr Hypotheses() = default;
  constexpr Hypotheses(std::initializer_list<Hypothesis> all) {
    for (const Hypothesis& one : all)
      if (count_ < kMost) all_[count_++] = one;
  }
  [[nodiscard]] constexpr const Hypothesis* begin() const noexcept { return all_.data(); }
  [[nodiscard]] constexpr const Hypothesis* end() const noexcept { return all_.data() + count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  friend bool operator==(const Hypotheses& a, const Hypotheses& b) {
    return std::ranges::equal(a, b);
  }
  friend bool operator<(const Hypotheses& a, const Hypotheses& b) {
    return std::ranges::lexicographical_compare(a, b);
  }

 private:
  std::array<Hypothesis, kMost> all_{};
  std::uint8_t count_ = 0;
};

/// One event in one direction of a session. Which members are used depends on the kind.
struct Anomaly {
  AnomalyKind kind{};
  Cause cause = Cause::none;  // unless certain: the likeliest
  Certainty certainty = Certainty::certain;
  Hypotheses alternatives = {};           // of Certainty::either
  wire::Role role = wire::Role::request;  // of the packets
  std::uint32_t session = 0;              // 0: none
  std::uint8_t direction = 0;       // 0: requests of the session's first sender; 1: of the other
  std::uint64_t frame = 0;          // the frame that shows it
  std::uint64_t last_frame = 0;     // last frame of a recovery; otherwise `frame`
  std::uint64_t related_frame = 0;  // the NAK, the original, ...; 0: none
  Instant stamp = {};               // of `frame`
  Duration duration{};              // of a recovery: from the first sign of the loss to its end
  std::uint32_t psn = 0;            // the first PSN
  std::uint64_t packets = 1;        // number of PSNs
  std::string detail = {};          // text about what the other members don't say; may be empty
  /// Where it happened, if several capture points tell: "near > far", "behind far"; otherwise
  /// empty.
  std::string where = {};
};

std::string_view name_of(AnomalyKind kind) noexcept;              // "psn_gap"
std::string_view name_of(Cause cause) noexcept;                   // "lost before the capture point"
std::string_view token_of(Cause cause) noexcept;                  // "lost_before"
std::string_view name_of(Certainty certainty) noexcept;           // "either"
std::string_view name_of(const Hypothesis& hypothesis) noexcept;  // its cause, or "late"
/// Returns a short description of a kind.
std::string_view help_of(AnomalyKind kind) noexcept;
std::span<const AnomalyKind> all_anomaly_kinds() noexcept;

/// A message as it was seen: a SEND, WRITE, READ or atomic operation.
struct Message {
  std::uint32_t session = 0;
  std::uint8_t direction = 0;
  wire::Transport transport = wire::Transport::rc;
  wire::Operation operation = wire::Operation::send;
  std::uint64_t bytes = 0;  // of payload; READ: the requested bytes
  std::uint64_t va = 0;
  std::uint32_t r_key = 0, immediate = 0;
  bool has_address = false, has_immediate = false;
  bool partial = false;  // some of its packets were not captured
  std::uint32_t first_psn = 0;
  std::uint32_t packets = 0;  // PSNs
  std::uint64_t resent = 0;   // packets that were seen again
  std::uint64_t first_frame = 0, last_frame = 0;
  Instant first_stamp = {}, last_stamp = {};
  /// The packet that completes the message: an ACK, the last READ response, an ATOMIC ACK; for UC
  /// and UD, its own last packet. Nothing: it was not seen.
  struct Completion {
    std::uint64_t frame = 0;
    Instant stamp;
  };
  std::optional<Completion> completion = {};
};

/// Receives the results of the analysis.
class Results {
 public:
  Results() = default;
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  virtual ~Results() = default;
  /// Called at the end of the capture, when all its facts are known; not in the order of frames.
  virtual void found(const Anomaly& anomaly) = 0;
  /// Called once after that: the number of anomalies beyond FindingLog::kMost.
  virtual void beyond(std::uint64_t /*anomalies*/) {}
  /// Called in the order of PSNs within a direction.
  virtual void completed(const Message& message) = 0;
};

}  // namespace lw::analysis
