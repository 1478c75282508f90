// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/anomaly.h"
#include "core/time.h"

namespace lw::analysis {

/// A sender's timer is never shorter than this.
inline constexpr Duration kShortestTimer = std::chrono::microseconds{500};

/// Times before a packet that comes again; nothing: what they are measured from was not seen.
struct Waits {
  /// Since it was sent last; of a gap in a response, since the request was first seen.
  std::optional<Duration> sent = {};
  std::optional<Duration> asked = {};  // since the NAK that asked for it
  /// Since it was answered; of a loss behind the capture point, from its repetition to the answer.
  std::optional<Duration> answered = {};
};

/// An anomaly as it was seen, and what its finding depends on.
struct Fact {
  Anomaly seen;  // its cause is what the packets before it suggest
  Waits waits = {};
  bool again = false;    // a gap: PSNs that a recovery skipped, and that came before; a loss behind
                         // the capture point: the packet was sent again before the NAK; a late
                         // response: it came before, and several repeated requests asked for it
  bool fetches = false;  // a retransmission: it begins with a READ or atomic
  bool late = false;     // a retransmission: the response that it asks for was late, not lost
  /// A gap: its packets came late, or again, up to this frame. 0: they did not.
  std::uint64_t filled = 0;
  bool newest = false;      // a copy: of the last packet that was sent
  bool unasked = false;     // a copy: nobody can have asked its sender for it again
  bool asked = false;       // a gap that was sent again: the receiver asked for just these packets
  bool inside = false;      // a gap, or a recovery: behind the first packet of the capture
  std::uint64_t since = 0;  // a gap of a recovery: the recovery's first frame
  /// A gap of a recovery: whether IP identifications, or a later recovery, show that it was sent.
  std::optional<bool> sent = {};
  /// A gap in answers: the repeated request may not have come. A gap of a recovery: its sender may
  /// have repeated other packets only.
  bool may_be_unasked = false;
  bool begins = false;     // a gap of a recovery: before its first packet, with which it may begin
  bool passed = false;     // a gap of the first round trip: the receiver has got packets behind it
                           // that were skipped as well, so they passed before the capture began
  bool damaged = false;    // a gap: its packets passed with wrong ICRCs
  bool trimmed = false;    // a gap: its packets passed without their data
  bool in_row = false;     // a gap: the packets around it came one after the other
  bool taken = false;      // a gap: the receiver acknowledged its packets before they came again
  bool overtaken = false;  // a late packet: the sender repeats what overtook it, but not the packet
  bool early = false;      // before the stream's first round trip, as far as the capture shows it;
                           // or a gap that an answer acknowledged before it showed
};

/// How a sender repeats packets after a NAK.
enum class RecoveryScheme : std::uint8_t { unknown, go_back_n, selective };

/// Recoveries that began sooner after a NAK than any timer.
struct QuickReactions {
  std::uint32_t count = 0;
  std::optional<Duration> least = {};  // from the NAK that names their first packet
};

/// Gaps of one kind that were sent again, and the packets of which each would have made such a gap
/// if the capture had missed it.
struct Resemblance {
  std::uint64_t gaps = 0, packets = 0;
};

/// Packets that came late, and gaps that are taken for losses.
struct Disorder {
  static constexpr std::uint64_t kEnough = 8;  // not by an odd chance

  std::uint64_t late = 0, lost = 0;

  /// Whether most gaps are of late packets: then another gap may be one.
  [[nodiscard]] bool prevails() const noexcept { return late >= kEnough && late > lost; }
};

/// What the whole capture shows about the requests of one direction and their answers.
struct ConnectionFacts {
  bool answered = false;  // answers were captured
  bool joined = false;    // answers to requests before the first one: it began before the capture
  bool began_before = false;       // it is joined, or its first packet does not begin a message
  std::uint64_t first_answer = 0;  // frame of the first answer that was captured; 0: none was
  std::optional<Duration> least_rtt = {};  // from a packet sent once to its answer, seen here
  bool steady_rtt = false;  // half of many such times, or more, are less than twice the least
  /// From the first transmission of a packet that was sent again to an answer: no round trip is
  /// longer.
  std::optional<Duration> least_answer = {};
  /// The longest time without an answer, before one to requests that were sent once: a timer that
  /// is shorter than this is longer than the round trip.
  Duration longest_quiet{};
  std::optional<Duration> least_reaction = {};  // from a NAK to the recovery that it caused
  QuickReactions host_reactions = {};           // of all connections of the sender's host
  std::optional<Duration> round_trip = {};      // from here to the sender and back
  bool selective = false;        // the sender repeats single packets, not all from a lost one on
  bool goes_back = false;        // it repeats all from a lost one on, as its answers to NAKs show
  bool repeats = true;           // the transport repeats requests
  bool headers_whole = true;     // the capture cuts off no AETHs and RETHs
  bool ip_numbers_vary = false;  // IP identifications tell a copy from a repetition
  bool ip_numbers_ordered = false;  // they tell which was sent first
  bool all_answered = false;        // each request that asks for an answer has one, repetitions too
  bool all_repeated = false;        // of three requests, two were sent again
  std::optional<Instant> stopped = {};  // the last answer, if the sender gave up after it; the
                                        // earliest time, if none ever came
  bool reads_refused = false;       // READs of more than one packet are asked for again and again,
                                    // though their whole answers pass here, and none is taken
  bool mtu_differs = false;         // the responder's packets have another MTU than the requester's
  Disorder disorder = {};           // of requests
  Disorder response_disorder = {};  // of READ responses
  Resemblance asked = {};      // gaps that a NAK names: packets that were lost behind this point
  Resemblance resent = {};     // other gaps of requests: packets that came again
  Resemblance responses = {};  // gaps that a repeated READ begins with: repeated READs
};

/// Whether nothing tells a late packet from one that was sent again.
inline bool is_order_unknown(const ConnectionFacts& connection) noexcept {
  return connection.repeats && !connection.answered && !connection.ip_numbers_ordered;
}

/// What the capture shows about itself.
struct CaptureFacts {
  std::uint64_t packets = 0;              // PSNs that an answer acknowledges
  std::uint64_t missing = 0;              // of these: the capture lacks them
  std::uint64_t naks = 0;                 // "PSN sequence error"
  std::uint64_t timeouts = 0;             // recoveries by a timer
  std::uint64_t copies = 0;               // requests that came again, though nothing asked for them
  std::uint64_t unasked_copies = 0;       // of these, and of responses: they were not sent again
  std::uint64_t late = 0;                 // packets that came late
  std::uint64_t response_recoveries = 0;  // recoveries for a lost response

  /// Whether the capture lacks frames that the network carried: more than 0.1 %, and not by an odd
  /// chance. Then nothing follows from the absence of a frame.
  [[nodiscard]] bool is_incomplete() const noexcept {
    constexpr std::uint64_t kFew = 2, kShare = 1000;
    return missing > kFew && missing * kShare > packets;
  }
  /// Whether the frames that the capture lacks may be one in kRare of these gaps or more. `asked`:
  /// an answer asked for what is missing. Otherwise a single frame that it lacks is enough.
  [[nodiscard]] bool may_make(const Resemblance& alike, bool asked) const noexcept {
    constexpr std::uint64_t kRare = 16;
    return (asked ? is_incomplete() : missing > 0) &&
           alike.packets * missing * kRare > alike.gaps * packets;
  }
  /// Whether copies that nobody can have asked for are a fourth or more of all: the path copies
  /// packets.
  [[nodiscard]] bool shows_copies() const noexcept {
    constexpr std::uint64_t kShare = 4;
    return unasked_copies > 0 && unasked_copies * kShare >= copies;
  }
  /// Whether the capture may lack the NAKs for requests that came again alone.
  [[nodiscard]] bool may_lack_naks_for_copies() const noexcept {
    return may_make({.gaps = copies, .packets = naks}, true);
  }
  /// Whether the capture may lack NAKs, as it lacks other frames, for some of the recoveries before
  /// which it has none.
  [[nodiscard]] bool lacks_naks() const noexcept {
    constexpr std::uint64_t kOfTimeouts = 8;
    return is_incomplete() && missing * naks * kOfTimeouts > packets * timeouts;
  }
};

}  // namespace lw::analysis
