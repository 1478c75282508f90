// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/requests/fetch_state.h"
#include "analysis/requests/message_rate.h"
#include "analysis/requests/repeated_answer.h"
#include "analysis/requests/repeated_responses.h"
#include "analysis/requests/request_checks.h"
#include "analysis/requests/response_gaps.h"
#include "analysis/requests/seen_responses.h"
#include "analysis/requests/sent_log.h"
#include "analysis/requests/stream_report.h"

namespace lw::analysis {

/// Follows the responses to the READs and atomics of one direction: which of them are skipped, come
/// late, or come again.
///
/// A responder executes requests in order: the first responses have rising PSNs, and what they skip
/// was lost or comes late. Each request that it gets once more is answered once more.
class FetchResponses {
 public:
  /// The arguments must outlive the object.
  FetchResponses(SentLog& log, StreamCounts& counts, const AnswerTimes& answers,
                 StreamReport& report) noexcept
      : state_(log, counts, answers, report), repeated_(report) {}
  FetchResponses(const FetchResponses&) = delete;  // again_ refers to state_
  FetchResponses& operator=(const FetchResponses&) = delete;

  /// Processes a READ response that is not the first one with its PSN, or fills a gap. Of a READ
  /// whose PSNs other requests have had, it may answer one of these. Call it first. Returns false
  /// if the response is none of these: then add() processes it.
  [[nodiscard]] bool take_behind(const CapturedPacket& packet, Sequence psn, Sent& read);
  /// Processes a response that continues that of `read`. Returns whether it ends it. `mtu`: bytes;
  /// nothing: unknown.
  bool add(const CapturedPacket& packet, Sequence psn, Sent& read,
           std::optional<std::uint32_t> mtu);
  /// Processes the first response to an atomic.
  void take_atomic(const CapturedPacket& packet, Sequence psn, Sent& atomic);
  /// Processes a response to a READ or atomic that was skipped, or that came before.
  void take_again(const CapturedPacket& packet, Sequence psn, Sent& request);

  /// Processes a repeated READ, which requests its response from `from` on, or a repeated atomic.
  /// Its `last_frame` and `last_stamp` are those of the repetition.
  void ask_again(Sent& request, Sequence from);
  /// Notes that the path copied a READ or atomic: the responder answers the copy, too.
  static void note_copy(Sent& request) noexcept;
  /// Notes that a READ or atomic may have been sent before the capture began, any number of times.
  static void note_sent_before(Sent& request) noexcept;
  /// `packet` answers a later request. The rest of the response to this READ or atomic must have
  /// come before: it was lost, or the capture lacks it.
  void skip_rest(Sent& request, const CapturedPacket& packet);
  /// `packet` answers a request with `psn`. The rest of the answer to a READ before it, which was
  /// repeated and whose answer had begun to come again, was lost or comes late. Returns this READ;
  /// null: none.
  const Sent* skip_rest_of_again(Sequence psn, const CapturedPacket& packet) {
    return again_.skip_rest(psn, packet);
  }
  /// Notes the PSN and MSN of a response, after it was processed.
  void note(const CapturedPacket& packet, Sequence psn) noexcept {
    state_.note(packet, psn);
    if (answers(packet)) {
      end_ = std::max(end_, psn + 1);
      if (packet.info->operation == wire::Operation::ack) repeated_.take_ack(packet);
    }
  }
  /// Notes a request that is seen for the first time. If an answer to it, or to a later one, came
  /// before, it was sent before the capture began.
  void note_request(Sent& request) noexcept {
    request.answered_before = request.fetches && request.psn < end_;
    if (request.fetches) [[unlikely]]
      long_reads_ += is_long_read(request);
  }
  /// Whether the requester asked for each READ of more than one packet again and again, though all
  /// of its response has passed: it does not take these responses.
  [[nodiscard]] bool are_refused() const noexcept {
    return refused_reads_ > 0 && refused_reads_ == long_reads_;
  }
  /// Notes the responses before the first request, which has `psn`. `end`: one past their highest
  /// PSN; nothing: there are none.
  void note_lone(Sequence psn, std::optional<wire::Psn> end) noexcept {
    if (end)
      end_ = psn +
             static_cast<Sequence>(std::int64_t{wire::Psn::distance(wire::Psn{psn_of(psn)}, *end)});
  }
  /// The MSN of the newest response; nothing: none came.
  [[nodiscard]] std::optional<std::uint32_t> newest_msn() const noexcept {
    if (state_.newest_msn > wire::Psn::kMask) return std::nullopt;
    return state_.newest_msn;
  }
  /// The newest response with an MSN.
  [[nodiscard]] MessageRate::Answer newest_answer() const noexcept {
    return {state_.newest_msn_psn + 1, state_.newest_msn};
  }
  /// Whether a response has the MSN of the newest one.
  [[nodiscard]] bool has_newest_msn(const CapturedPacket& packet) const noexcept {
    return state_.newest_msn == packet.msn;
  }
  /// Returns the first skipped part that begins in [first, end); nothing: none.
  [[nodiscard]] std::optional<ResponseGap> gap_in(Sequence first, Sequence end) const {
    return state_.gaps.in(first, end);
  }
  /// Returns the frame that showed a gap in [first, end), or at the PSN before, if a late response
  /// has filled it and the gap showed at `since` or later; nothing: none. A requester that discards
  /// what overtook the late response asks for it again.
  [[nodiscard]] std::optional<std::uint64_t> late_gap_in(Sequence first, Sequence end,
                                                         Instant since) const {
    const auto gap = late_gaps_.in(first - 1, end);
    return gap && gap->stamp >= since ? std::optional(gap->frame) : std::nullopt;
  }
  /// Whether a READ or atomic before `psn` was not complete at `stamp`: its requester does not take
  /// an answer to a later request then. (IBTA vol. 1, 9.7.5.1.1)
  [[nodiscard]] bool was_incomplete_before(Sequence psn, Instant stamp) const noexcept {
    return completed_ < psn && completed_stamp_ > stamp;
  }
  /// One past the highest PSN of a response, also without its request; 0: none came.
  [[nodiscard]] Sequence answered_end() const noexcept { return end_; }
  /// Reports what is still missing at the end of the capture, at `end`.
  void finish(Instant end) {
    again_.decide_jump(0);
    repeated_.end();
    state_.gaps.close([&](const ResponseGap& gap) {
      if (state_.may_be_asked(gap, end))
        state_.report_open(gap);
      else
        state_.report_missing(gap);
    });
    refilled_.close([this](const ResponseGap& gap) { state_.report_lost(gap); });
  }

 private:
  [[nodiscard]] static bool is_long_read(const Sent& request) noexcept {
    return is_read(request.opcode) && request.dma_length > kMtus[0];
  }
  [[nodiscard]] bool comes_alone(Sequence psn, const Sent& request) const noexcept;
  [[nodiscard]] bool is_late(const CapturedPacket& packet, Sequence psn,
                             const Sent& request) const noexcept;
  [[nodiscard]] bool is_newer(const Sent& request, const ResponseGap& gap) const noexcept;
  bool take_old(const CapturedPacket& packet, Sequence psn, const Sent& request);
  [[nodiscard]] bool is_only_interrupted(Sequence psn, const ResponseGap& gap,
                                         const Sent& request) const noexcept;
  void take_missing(const CapturedPacket& packet, Sequence psn, const ResponseGap& old,
                    Sent& request);
  void fill(const ResponseGap& gap, Sequence psn);
  void note_lost(const ResponseGap& gap, Sequence psn);
  void note_lost_in_others(Sequence psn);
  void note_first(const CapturedPacket& packet, Sequence psn, const Sent& request);
  void take_unasked(const CapturedPacket& packet, Sequence psn, const Sent& request);

  FetchState state_;
  RepeatedAnswer again_{state_};
  ResponseGaps late_gaps_;  // that a late response filled
  ResponseGaps refilled_;   // that a repeated response filled: the first one may still come late
  RepeatedResponses repeated_;
  // The READ or atomic whose response, of those that were missing, came last.
  Sequence completed_ = ~Sequence{0};
  Instant completed_stamp_ = Instant::min();
  SeenResponses seen_;      // to requests that may have been sent before the capture
  Sequence first_end_ = 0;  // one past the highest PSN of a response
  Sequence late_next_ = 0;  // one past the newest response that came late, and was repeated before
  Sequence end_ = 0;        // one past the highest PSN of a response, also without its request
  std::uint64_t long_reads_ = 0;     // READs of more than one packet
  std::uint64_t refused_reads_ = 0;  // of these: answered, and asked for a fourth time
};

}  // namespace lw::analysis
