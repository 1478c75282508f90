// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "analysis/requests/flight_times.h"
#include "core/compact_histogram.h"
#include "core/time.h"

namespace lw::analysis {

/// Round trips of requests behind which nothing was sent again before their answer: no answer
/// waited for a packet that was lost.
struct UndisturbedTrips {
  std::uint64_t count = 0;
  Duration longest{};

  void add(Duration round_trip) noexcept {
    ++count;
    longest = std::max(longest, round_trip);
  }
};

/// Totals of one direction of a session: its requests, and the responses to them.
struct StreamCounts {
  std::uint64_t packets = 0, bytes = 0;   // on the wire, copies and retransmissions included
  std::uint64_t payload = 0;              // bytes of requests and READ responses, each once
  std::uint64_t payload_unasked = 0;      // bytes of READ responses whose request was not captured
  std::uint64_t responses = 0, acks = 0;  // of the other end; ACKs are responses too
  std::uint64_t acks_asked = 0;           // requests with AckReq, no READs and atomics
  std::uint64_t fetches_answered = 0;     // READs and atomics, to the last packet
  std::uint64_t resent = 0;               // request packets that were seen before, or fill a gap
  std::uint64_t duplicates = 0;           // requests that the path copied
  std::uint64_t responses_duplicated = 0;
  std::uint64_t out_of_order = 0;    // PSNs of requests that came late
  std::uint64_t responses_late = 0;  // of responses
  std::uint64_t lost = 0;            // PSNs of requests that were skipped, and did not come late
  std::uint64_t responses_lost = 0;  // PSNs of READ responses
  std::uint64_t missing = 0;         // of both: only the capture lacks them
  std::uint64_t span = 0;            // PSNs from the first request to the newest, at the end
  bool of_sample = false;            // its capture is a sample, and it lacks many PSNs
  /// Messages in `span`, as the responder's counts, or the lengths of READs and WRITEs, say;
  /// nothing: neither does.
  std::optional<double> messages_by_psn = {};
  std::uint64_t missing_early = 0;     // of these: in the first round trip of the capture
  std::uint64_t lost_behind = 0;       // packets that were lost behind the capture point
  std::uint64_t gaps_asked = 0;        // packets of lost that a NAK named, and that were sent again
  std::uint64_t gaps_resent = 0;       // others of lost that were sent again
  std::uint64_t responses_asked = 0;   // of responses_lost: with them a repeated READ begins
  std::uint64_t fetches_repeated = 0;  // READs and atomics that came again
  std::uint64_t recoveries = 0;
  std::map<std::uint8_t, std::uint64_t> naks;  // by code, without RNR NAKs
  std::uint64_t rnr_naks = 0;
  std::map<std::uint8_t, std::uint64_t> opcodes;  // of requests
  std::optional<std::uint32_t> first_psn;
  Instant first, last;  // stamps of requests and responses
  /// Time in ns from a request to its ACK, its atomic's response or its first READ response.
  CompactHistogram rtt;
  UndisturbedTrips undisturbed;  // of rtt
  FlightTimes flight;
  std::uint32_t most_outstanding = 0;  // PSNs of SEND and WRITE
  // ACKs of a part of the outstanding PSNs that came when most_outstanding were: the sender may
  // have waited for them at its limit. Times since the packet before them, and until the next
  // request.
  std::uint64_t held = 0;
  Duration held_before{}, held_after{};
  /// The shortest time from such an ACK to the next request: a round trip from here to a sender
  /// that waited for it, or less.
  std::optional<Duration> least_held_after = {};
  /// NAKs of packets that were lost behind the capture point, and the longest time to one of them
  /// from the packet behind the lost one: a round trip, with the time that it waited in a queue.
  /// Without NAKs that waited for an earlier packet to come again.
  std::uint64_t loss_naks = 0;
  Duration longest_loss_nak{};
  std::uint32_t most_reads = 0;                // READs and atomics at once
  std::uint64_t reads_at_most = 0, reads = 0;  // of reads: those that reached most_reads

  /// True if the sender was held by its limit of outstanding READs and atomics: many reached it.
  [[nodiscard]] bool held_by_reads() const noexcept {
    return most_reads > 1 && reads_at_most >= kOften && reads_at_most * 4 >= reads;
  }
  /// True if the sender was held by its limit of outstanding packets of SENDs and WRITEs: again and
  /// again, and for half of the time, it was silent at the limit, and it sent soon after the ACK. A
  /// sender with a fixed rate does not wait for ACKs; at the receiver's side nothing waits long for
  /// them.
  [[nodiscard]] bool held_by_window() const noexcept {
    return reads == 0 && held >= kOften && held_share() >= 0.5 && held_after * 8 <= held_before;
  }
  /// Whether so many of the PSNs are absent, a twentieth or more, that the capture is a sample if
  /// the network has carried them.
  [[nodiscard]] bool lacks_many(std::uint64_t absent) const noexcept {
    constexpr std::uint64_t kFew = 8, kShare = 20;
    return absent > kFew && absent * kShare > span;
  }
  /// Whether the capture holds a sample of the packets.
  [[nodiscard]] bool is_sample() const noexcept { return of_sample || lacks_many(missing); }
  /// PSNs that were seen: of requests, and of the responses to READs.
  [[nodiscard]] std::uint64_t psns_seen() const noexcept {
    const std::uint64_t again = resent + duplicates + reads;
    const std::uint64_t others = acks + responses_duplicated;
    return packets - std::min(packets, again) +
           (reads == 0 ? 0 : responses - std::min(responses, others));
  }
  /// Bytes of payload that passed: in a sample, by the PSNs.
  [[nodiscard]] std::uint64_t payload_passed() const noexcept {
    const std::uint64_t seen = psns_seen();
    if (!is_sample() || seen == 0) return payload;
    return static_cast<std::uint64_t>(static_cast<double>(payload + payload_unasked) *
                                      static_cast<double>(span) / static_cast<double>(seen));
  }
  /// Rate of the payload, in b/s; 0 for one instant.
  [[nodiscard]] double goodput() const noexcept {
    const auto all = static_cast<double>(stamp_difference(last, first).count());
    return all > 0 ? static_cast<double>(payload_passed()) * 8e9 / all : 0;
  }
  /// True if the most READs in flight, once a round trip, carry at most twice the goodput:
  /// otherwise the application asked for no more.
  [[nodiscard]] bool reads_bound_the_rate() const noexcept {
    const std::int64_t round_trip = rtt.count() == 0 ? 0 : rtt.quantile(0.5);
    if (round_trip <= 0 || reads == 0) return true;
    const double size = static_cast<double>(payload) / static_cast<double>(reads);
    return most_reads * size * 8e9 / static_cast<double>(round_trip) <= 2 * goodput();
  }
  /// The queue that the packets wait in; see FlightTimes. Nothing: none was seen.
  [[nodiscard]] std::optional<StandingQueue> standing_queue() const noexcept {
    if (reads > 0) return std::nullopt;
    const auto queue = flight.standing_queue(stamp_difference(last, first));
    // The way from the sender to the capture point and back is part of a round trip.
    const Duration whole = Duration{flight.shortest} + least_held_after.value_or(Duration{});
    return queue && 2 * queue->time >= whole ? queue : std::nullopt;
  }
  /// Bytes of payload of a PSN.
  [[nodiscard]] double bytes_of_packet() const noexcept {
    const std::uint64_t once = packets - std::min(packets, resent + duplicates);
    return once == 0 ? 0 : static_cast<double>(payload) / static_cast<double>(once);
  }
  /// Share of the time in which nothing was in flight, 0 to 1.
  [[nodiscard]] double idle_share() const noexcept {
    const auto all = static_cast<double>(stamp_difference(last, first).count());
    return all > 0 ? static_cast<double>(flight.idle) / all : 0;
  }
  /// Share of the time in which the sender was silent at that limit, 0 to 1.
  [[nodiscard]] double held_share() const noexcept {
    const auto all = static_cast<double>(stamp_difference(last, first).count());
    return all > 0 ? static_cast<double>(held_before.count()) / all : 0;
  }

 private:
  static constexpr std::uint64_t kOften = 16;  // times that a limit is reached by more than chance
};

}  // namespace lw::analysis
