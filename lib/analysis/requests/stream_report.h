// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "analysis/anomaly.h"
#include "analysis/findings/finding_log.h"
#include "analysis/packet.h"
#include "analysis/requests/answer_times.h"
#include "analysis/requests/open_requests.h"
#include "analysis/requests/recovery.h"
#include "analysis/requests/response_gaps.h"
#include "analysis/requests/stream_counts.h"

namespace lw::analysis {

/// An ACK of a PSN that was not sent before.
struct EarlyAck {
  Sequence psn = 0;
  std::uint64_t frame = 0;
  Instant stamp = {};
};

/// Notes what a stream of requests has seen: a fact for each anomaly, and its counts. The caller
/// keeps the arguments as long as this object.
class StreamReport {
 public:
  StreamReport(std::uint32_t session, std::uint8_t direction, StreamCounts& counts,
               const AnswerTimes& answers, FindingLog& log)
      : session_(session), direction_(direction), counts_(counts), answers_(answers), log_(log) {}

  /// From this PSN on, the capture shows the stream from its first transmission on. Before it,
  /// packets may have been sent before the capture began, and be sent again in it.
  void shows_from(Sequence psn) noexcept { settled_ = psn; }
  [[nodiscard]] bool is_early(Sequence psn) const noexcept { return psn < settled_; }

  // Losses.

  /// PSNs of requests that are missing. `gap`: the frame that showed it.
  void gap(const Sent& gap, Cause cause);
  /// PSNs that the receiver acknowledged, from `next` up to that of the ACK, and that were not
  /// seen.
  void unseen_before(const EarlyAck& ack, Sequence next);
  void response_gap(const ResponseGap& gap, Cause cause);

  // Packets that came late or again.

  /// Packets that filled a gap without a recovery.
  void late(const Fill& fill, Cause cause);
  /// A packet that came after the packet by which the sender has replaced it. `gap`: what it
  /// belonged to.
  void late_after_recovery(const CapturedPacket& packet, const Filled& gap);
  /// A packet that a recovery had skipped.
  void late_in_recovery(const CapturedPacket& packet, Sequence psn, const Filled& skipped);
  /// `again`: it came before, and several repeated requests asked for it.
  void late_response(const CapturedPacket& packet, Sequence psn, const ResponseGap& gap,
                     bool again = false);
  /// `original`: null: not known. `waits.answered`: time since all of the response to a READ or
  /// atomic has passed, if its requester may have asked for it again.
  /// `newest`: the last packet that was sent, so a sender that goes back repeats it alone.
  /// `unasked`: nobody can have asked the sender for it again.
  void copy(const CapturedPacket& packet, Sequence psn, const Sent* original, bool newest,
            bool unasked, const Waits& waits = {});
  /// `cause`: path_copy; none: it may also answer a request that was sent again.
  void response_copy(const CapturedPacket& packet, Sequence psn, std::uint64_t original,
                     Cause cause);
  /// Responses that were sent again, up to `last_frame`. `again`: their PSNs, and the frame of the
  /// first one's original. `cause`: request_resent; none: the path may also have copied the
  /// request.
  void response_again(const CapturedPacket& packet, const Filled& again, std::uint64_t last_frame,
                      Cause cause);
  /// A recovery that has ended, and the PSNs that came in it first, so they were lost. Those before
  /// `begin`, unless a NAK names them, may have been sent before the capture began. `goes_back`: it
  /// went on to the newest packet, so what it skipped was lost once more.
  void recovery(const Recovery& recovery, Sequence begin, bool goes_back);
  /// PSNs that came before, and that were lost when the sender sent them again. `since`: the frame
  /// with which their recovery began.
  void lost_again(const Filled& gap, std::uint64_t since);
  void retry_storm(const CapturedPacket& packet, Sequence psn, const Sent& original);

  // Responses, and their absence.

  /// Reports and returns a NAK or an RNR NAK. `refused`: the request with its PSN; null: not seen.
  Anomaly nak(const CapturedPacket& packet, Sequence psn, const Sent* refused);
  /// The packet that `nak` asks for passed the capture point and was lost after it.
  static Anomaly lost_after_capture(Anomaly nak);
  /// `waits.answered`: time from its repetition to the answer that acknowledges it.
  void lost_behind(const Anomaly& lost, const Waits& waits) {
    ++counts_.lost_behind;
    log_.add(Fact{.seen = lost, .waits = waits});
  }
  /// A packet that `lost`, of lost_after_capture(), was taken for, and that came. `again`: it may
  /// be one that was sent before the NAK.
  void overtaken(Anomaly lost, bool again);
  /// A response that no request allows. `wrong`: text about it.
  void wrong_answer(const CapturedPacket& packet, Sequence psn, std::string wrong);
  /// `packet` is the first that has the PSN of the ACK.
  void ack_of_unsent(const EarlyAck& ack, const CapturedPacket& packet);
  /// `cause`: how the last answer refused the oldest request; none: it did not. `end`: that of the
  /// capture.
  void unanswered(const OpenRequests& open, Instant end, Cause cause);
  /// `packet` ends a silence; requests from `oldest` up to the one before `next` waited.
  void stall(const CapturedPacket& packet, Sequence oldest, Sequence next, Duration silence);

  // What the specification forbids. `wrong`: text about it.

  void malformed(const CapturedPacket& packet, Sequence psn, std::string wrong);
  /// Returns the report of a packet that is another request than `known`, which had its PSN before.
  [[nodiscard]] Anomaly psn_reused(const CapturedPacket& packet, const Sent& known,
                                   std::string wrong) const;
  void add(const Anomaly& found) { log_.add(found); }
  /// A READ response that ended after `packets`.
  void read_span(const CapturedPacket& packet, Sequence psn, const Sent& read,
                 std::uint32_t packets, std::uint32_t mtu);

 private:
  [[nodiscard]] Anomaly anomaly(AnomalyKind kind, const CapturedPacket& packet, Sequence psn) const;
  [[nodiscard]] Anomaly response_anomaly(AnomalyKind kind, const CapturedPacket& packet,
                                         Sequence psn) const;
  /// What the capture skips, as a fact to complete.
  [[nodiscard]] Fact missing(wire::Role role, const Filled& gap, Cause cause);
  /// PSNs of requests that came first in a recovery, so they were lost, if the capture began
  /// before them, at `begin`.
  [[nodiscard]] bool was_missed_before(const Filled& gap, const Recovery& recovery) const noexcept;
  void sent_again(Filled gap, const Recovery& recovery, Sequence begin);

  std::uint32_t session_;
  std::uint8_t direction_;
  Sequence settled_ = ~Sequence{0};
  StreamCounts& counts_;
  const AnswerTimes& answers_;
  FindingLog& log_;
};

}  // namespace lw::analysis
