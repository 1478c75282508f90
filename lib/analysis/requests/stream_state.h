// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>

#include "analysis/qp_flows.h"
#include "analysis/requests/answer_times.h"
#include "analysis/requests/capture_begin.h"
#include "analysis/requests/fetch_responses.h"
#include "analysis/requests/ip_numbers.h"
#include "analysis/requests/late_packets.h"
#include "analysis/requests/nak_log.h"
#include "analysis/requests/revision.h"
#include "analysis/requests/sender_limits.h"
#include "analysis/requests/sent_log.h"
#include "analysis/requests/stream_counts.h"
#include "analysis/requests/stream_report.h"
#include "analysis/requests/taken_answers.h"

namespace lw::analysis {

/// What a stream needs to know about its flows.
struct StreamSetup {
  std::uint32_t session = 0;
  std::uint8_t direction = 0;
  std::optional<std::uint32_t> mtu;    // bytes; nothing: unknown
  std::uint32_t largest_response = 0;  // payload of a READ response in one packet
  std::uint32_t request_mtu = 0;  // bytes: the requester's, as its own packets or its connection
                                  // manager show; 0: nothing shows it
  bool answered = true;           // the other direction was captured, and answers
  RecoveryScheme scheme = RecoveryScheme::unknown;
  std::optional<Duration> least_reaction = {};  // from a NAK to the packet that it names
  bool ip_numbers_count = false;  // the sender counts up the identifications of its IP packets
  std::optional<Duration> round_trip = {};   // from here to the sender and back, at least
  std::optional<Duration> answer_time = {};  // from here to the responder and back, at least

  friend bool operator==(const StreamSetup&, const StreamSetup&) = default;
  /// Whether the sender's answers to NAKs show that it repeats all from a lost packet on.
  [[nodiscard]] bool goes_back() const noexcept { return scheme == RecoveryScheme::go_back_n; }
  /// Also true if no answer tells how it recovers.
  [[nodiscard]] bool may_go_back() const noexcept { return goes_back() || !answered; }
  /// The time that the sender needs to answer a NAK, as far as is known.
  [[nodiscard]] Duration time_to_answer() const noexcept {
    return std::max(least_reaction.value_or(Duration{}), round_trip.value_or(Duration{}));
  }
  /// What comes sooner after a NAK is no answer to it.
  [[nodiscard]] Duration soonest() const noexcept { return time_to_answer() / 2; }
  /// Number of PSNs that a request takes.
  [[nodiscard]] std::uint32_t span_of(const CapturedPacket& packet) const noexcept {
    if (packet.info->operation != wire::Operation::read_request || !packet.has_reth) return 1;
    if (mtu) return read_span(packet.dma_length, *mtu);
    return packet.dma_length <= largest_response ? 1 : read_span(packet.dma_length, 4096);
  }
};

/// What was seen of a stream so far: its requests, their NAKs, late packets and responses, and what
/// these show about the sender. The parts of RequestStream ask it. Where the stream stands is set
/// by RequestStream alone; the other members are classes of their own. Each part holds what is open
/// there, such as a recovery that goes on.
class StreamState {
 public:
  /// The longest time that a sender takes to answer.
  static constexpr Duration kReaction = std::chrono::milliseconds{4};

  StreamState(const StreamSetup& stream_setup, FindingLog& log_of_findings)
      : setup_(stream_setup),
        answers(counts, setup_.answer_time),
        report(setup_.session, setup_.direction, counts, answers, log_of_findings),
        limits(counts),
        fetched(log, counts, answers, report) {
    if (setup_.ip_numbers_count) ip_numbers_.expect_order();
  }
  StreamState(const StreamState&) = delete;  // members refer to counts
  StreamState& operator=(const StreamState&) = delete;

  /// What is known of the flows.
  [[nodiscard]] const StreamSetup& setup() const noexcept { return setup_; }
  /// One past the highest PSN seen.
  [[nodiscard]] Sequence next() const noexcept { return next_; }
  /// One past the highest PSN acknowledged.
  [[nodiscard]] Sequence acked() const noexcept { return acked_; }
  /// RC: the receiver answers, and the sender repeats what was lost.
  [[nodiscard]] bool reliable() const noexcept { return reliable_; }
  /// The capture cuts off RETHs: READs may have more PSNs.
  [[nodiscard]] bool reads_cut() const noexcept { return reads_cut_; }
  /// The capture cuts off AETHs, so ACKs and NAKs look alike.
  [[nodiscard]] bool acks_cut() const noexcept { return acks_cut_; }
  /// The identifications of the sender's IP packets.
  [[nodiscard]] const IpNumbers& ip_numbers() const noexcept { return ip_numbers_; }
  /// The time before the newest packet of either direction.
  [[nodiscard]] Duration silence() const noexcept { return silence_; }
  /// When the newest acknowledgement or new request came.
  [[nodiscard]] Instant last_progress() const noexcept { return last_progress_; }

  /// Whether an answer acknowledges all up to the one before `end`.
  [[nodiscard]] bool was_taken(Sequence end) const noexcept {
    return reliable_ && !acks_cut_ && !reads_cut_ && end <= acked_;
  }
  /// Whether a packet comes soon enough to be the sender's answer to what came at `before`.
  [[nodiscard]] bool is_answer(const CapturedPacket& packet, Instant before) const noexcept {
    return stamp_difference(packet.stamp, before) < Duration{counts.rtt.maximum()} + kReaction;
  }

  /// The sender has answered what came here longer ago.
  [[nodiscard]] Duration time_to_react() const noexcept {
    const Duration known = setup_.time_to_answer();
    return kReaction + (known > Duration{} ? known : Duration{counts.rtt.maximum()});
  }

  /// No answer comes sooner; zero: not known.
  [[nodiscard]] Duration least_round_trip() const noexcept {
    return answers.least_round_trip().value_or(Duration{});
  }

  /// Processes packets that filled a gap, and were late.
  void note_late(const Fill& fill, Cause cause) {
    late.mark_overtaken(fill.first, fill.next);
    report.late(fill, cause);
  }

 private:
  friend class RequestStream;  // moves the stream on

  /// Decides again with what was learned of the flows since.
  void learn(const StreamSetup& learned) {
    setup_ = learned;
    answers.learn(setup_.answer_time);
    if (setup_.ip_numbers_count) ip_numbers_.expect_order();
  }

  // Members that a packet in order and its ACK use come first, in few cache lines.
  Sequence next_ = 0;
  Sequence acked_ = 0;
  bool reliable_ = true;
  bool reads_cut_ = false;
  bool acks_cut_ = false;
  IpNumbers ip_numbers_;
  Duration silence_{};
  Instant last_progress_;

 public:
  SentLog log;

 private:
  StreamSetup setup_;

 public:
  StreamCounts counts;
  AnswerTimes answers;
  StreamReport report;
  SenderLimits limits;
  CaptureBegin begin;
  NakLog naks;
  RevisionLog revisions;
  LatePackets late;
  TakenAnswers taken;
  FetchResponses fetched;
};

}  // namespace lw::analysis
