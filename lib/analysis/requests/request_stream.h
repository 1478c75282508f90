// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "analysis/anomaly.h"
#include "analysis/requests/flight_probes.h"
#include "analysis/requests/gap_fills.h"
#include "analysis/requests/lone_responses.h"
#include "analysis/requests/losses_behind.h"
#include "analysis/requests/message_builder.h"
#include "analysis/requests/message_rate.h"
#include "analysis/requests/psn_reuse.h"
#include "analysis/requests/recoveries.h"
#include "analysis/requests/repetitions.h"
#include "analysis/requests/stream_state.h"
#include "analysis/requests/wrong_answers.h"

namespace lw::analysis {

/// Number of requests that a stream remembers, 112 bytes each.
struct StreamMemory {
  std::size_t waiting = 16384;  // for their response; older ones count as never answered
  std::size_t answered = 512;   // before those, at least one; their copies are recognised
};

/// Follows the requests of one direction and the responses to them, and distinguishes losses,
/// retransmissions, duplicates and late packets. (IBTA vol. 1, 9.7)
///
/// A PSN that comes again is a retransmission if there is a reason for it: a NAK or an RNR NAK of
/// this or a later PSN, a gap in a READ's response, the packet before it in the same recovery, or
/// time. A sender's timer is never shorter than kShortestTimer, and it starts with the oldest
/// packet that is not acknowledged. Otherwise the path has copied the packet. If the sender numbers
/// its IP packets, the numbers decide: a copy has the number of the original.
/// A gap that is filled later was lost if a recovery fills it, and late otherwise.
class RequestStream {
 public:
  RequestStream(const StreamSetup& setup, Results& results, FindingLog& log)
      : state_(setup, log),
        messages_(results, setup.session, setup.direction, setup.mtu.value_or(0)),
        flight_(state_.counts.flight),
        wrong_(state_),
        recoveries_(state_),
        fills_(state_, recoveries_),
        repetitions_(state_, recoveries_, wrong_),
        losses_(state_, recoveries_, fills_),
        lone_(state_.report, state_.counts),
        reuse_(state_.report) {}

  /// Decides again with what the flows have shown since `setup`: the packets that follow are read
  /// in this way. Call it between two packets.
  void learn(const StreamSetup& learned) {
    if (learned == state_.setup_) return;
    if (learned.scheme != state_.setup_.scheme) recoveries_.learn(learned.scheme);
    state_.learn(learned);
    messages_.learn(learned.mtu.value_or(0));
  }
  /// Processes a request with a valid ICRC.
  void request(const CapturedPacket& packet);
  /// Processes a response to a request of this stream.
  void response(const CapturedPacket& packet);
  /// Sets the memory from now on. The next request retires requests that are too many.
  void remember(const StreamMemory& memory) {
    memory_ = memory;
    state_.log.trim();
  }
  /// Ends the stream. `end`: end of the capture. `host_answered`: it has answers to the requester's
  /// host, of whatever connection, so that answers to this stream would have been captured.
  void finish(Instant end, bool host_answered);
  /// Notes that the capture is a sample, after finish(): then PSNs that no answer shows to have
  /// passed are absent, too.
  void note_sample();

  /// What the capture shows about the requests and their answers, so far.
  [[nodiscard]] ConnectionFacts facts() const noexcept;
  /// Adds what these requests show about the capture's completeness.
  void add_to(CaptureFacts& capture) const noexcept {
    if (state_.counts.responses == 0) return;
    capture.packets += state_.next_ - state_.begin.first();
    // Before its begin, packets were sent that it does not lack.
    capture.missing +=
        state_.counts.missing - (state_.begin.began_before() ? state_.counts.missing_early : 0);
    if (const auto naks = state_.counts.naks.find(0); naks != state_.counts.naks.end())
      capture.naks += naks->second;
  }
  [[nodiscard]] const StreamCounts& counts() const noexcept { return state_.counts; }
  /// Messages that were seen, completely or in part; in a sample, those that passed.
  [[nodiscard]] std::uint64_t messages() const noexcept {
    if (!state_.counts.is_sample() || !state_.counts.messages_by_psn) return messages_.messages();
    return static_cast<std::uint64_t>(*state_.counts.messages_by_psn + 0.5);
  }
  [[nodiscard]] const StreamSetup& setup() const noexcept { return state_.setup_; }
  /// The requests without an answer at the end of the capture; nothing: all have one, or none asks
  /// for one. Call it after finish().
  [[nodiscard]] const std::optional<OpenRequests>& open_requests() const noexcept { return open_; }

  /// Returns `psn` without wrap-around: the number nearest to that of the next request.
  [[nodiscard]] Sequence unwrap(std::uint32_t psn) const noexcept;
  /// One past the highest PSN sent, and one past the highest acknowledged.
  [[nodiscard]] Sequence next() const noexcept { return state_.next_; }
  [[nodiscard]] Sequence acknowledged() const noexcept { return state_.acked_; }
  /// What was assumed of packets, and taken back because of later ones.
  [[nodiscard]] const RevisionLog& revisions() const noexcept { return state_.revisions; }
  /// The newest sample of counts().rtt.
  [[nodiscard]] Duration last_rtt() const noexcept { return state_.answers.last_round_trip(); }

 private:
  // Requests.
  void count_request(const CapturedPacket& packet);
  void check_silence(const CapturedPacket& packet);
  void end_first_round_trip();
  void advance(const CapturedPacket& packet, Sequence psn);
  void append(const CapturedPacket& packet, Sequence psn);
  void extend_cut_read(Sequence end);
  [[nodiscard]] bool is_beyond_response(const Sent& read, Sequence psn) const noexcept;
  void cut_read(const Sent& read, Sequence end);
  [[nodiscard]] bool repeats_newest() noexcept;
  [[nodiscard]] bool begins_within_recovery(const CapturedPacket& packet,
                                            Sequence psn) const noexcept;
  void skip(const CapturedPacket& packet, Sequence psn);
  void behind(const CapturedPacket& packet, Sent sent);
  void open_before_begin(const CapturedPacket& packet, Sequence psn);
  bool take_if_late(const CapturedPacket& packet, Sequence psn);
  void check_form(const CapturedPacket& packet);
  void report_if_wrong(const CapturedPacket& packet, std::string wrong);
  bool take_reuse(const CapturedPacket& packet, Sequence psn);
  void append_rest(const CapturedPacket& packet, Sequence end);

  // Responses.
  void acknowledge(Sequence end, const CapturedPacket& packet);
  void mark_acknowledged(Sent& sent, const CapturedPacket& packet);
  void replay(const CapturedPacket& packet);
  void take_lone_response(const CapturedPacket& packet);
  void take_ack(const CapturedPacket& packet, Sequence psn);
  void take_cut_ack(const CapturedPacket& packet, Sequence psn);
  [[nodiscard]] bool is_within_cut_read(Sequence psn) noexcept;
  [[nodiscard]] bool follows_cut_read(Sequence psn) noexcept;
  void take_nak(const CapturedPacket& packet, Sequence psn);
  void note_early(Sent& request) const noexcept;
  void take_read_response(const CapturedPacket& packet, Sequence psn);
  void take_atomic_ack(const CapturedPacket& packet, Sequence psn);

  void retire_done();
  void retire(Cause cause_of_gap);
  void forget(const Sent& oldest);
  void retire_beyond(std::size_t most);
  [[nodiscard]] const Sent* oldest_unanswered() noexcept;
  [[nodiscard]] std::optional<OpenRequests> find_open() noexcept;
  [[nodiscard]] bool was_given_up(const Sent& oldest) noexcept;
  void report_unanswered(Instant end, bool host_answered);
  void take_early_ack(const CapturedPacket& packet, Sequence psn);
  void settle_held(std::optional<CapturedPacket> right);
  void complete_atomic(const CapturedPacket& packet, Sequence psn, Sent& atomic);

  // Members that a packet in order and its ACK use come first, in few cache lines.
  Sequence newest_end_ = 0;  // one past the PSNs of the newest packet
  /// True: no recovery, fill, doubt, early ACK or loss after the capture point is open. False may
  /// also mean that this was not checked since the last NAK or early ACK.
  bool calm_ = false;
  std::optional<Instant> last_packet_;
  const wire::OpcodeInfo* previous_ = nullptr;  // the newest packet in order
  const wire::OpcodeInfo* counted_ = nullptr;   // the last opcode, and its count
  std::uint64_t* count_ = nullptr;
  StreamState state_;
  StreamMemory memory_;
  MessageBuilder messages_;
  FlightProbes flight_;

  WrongAnswers wrong_;
  Recoveries recoveries_;
  GapFills fills_;
  Repetitions repetitions_;
  LossesBehind losses_;
  LoneResponses lone_;
  std::optional<EarlyAck> early_ack_;
  std::optional<Instant> stopped_;  // the last response, if the sender gave up after it
  std::optional<OpenRequests> open_;
  MessageRate::Answer first_answer_;
  PsnReuse reuse_;
};

}  // namespace lw::analysis
