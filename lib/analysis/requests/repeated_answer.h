// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/requests/fetch_state.h"

namespace lw::analysis {

/// The answers to the repeated requests of one direction, which a responder sends again in a row:
/// what is missing in them. A response that does not follow the one before begins an answer, goes
/// on behind lost ones, or is late or a copy; the next one decides.
class RepeatedAnswer {
 public:
  /// `state` must outlive the object.
  explicit RepeatedAnswer(FetchState& state) noexcept : state_(state) {}

  /// Processes a response that comes again, to a repeated request. Returns whether it belongs to
  /// the answer. Otherwise the path copied it.
  [[nodiscard]] bool note(const CapturedPacket& packet, Sequence psn, const Sent& request);
  /// Whether a response is the first one of an answer, and comes behind others of it; or of the
  /// next answer, which the response behind it shows. Call it for each that comes again.
  [[nodiscard]] bool begins_late(const CapturedPacket& packet, Sequence psn);
  /// Processes the first response with its PSN.
  void take_first(const CapturedPacket& packet, Sequence psn, const Sent& request);
  /// The answer goes on with `packet`, which has `psn`.
  void go_on(const CapturedPacket& packet, Sequence psn) noexcept {
    next_ = psn + 1;
    end_ = std::max(end_, next_);
    note_end(packet, psn);
  }
  /// The responder begins to answer with a response that does not follow the one before; unless it
  /// was late, and the next one goes on with the answer before.
  void begin(const CapturedPacket& packet, Sequence psn) noexcept {
    interrupted_ = Row{next_, first_, begin_, packet.number, psn};
    begin_at(packet, psn);
  }
  /// Processes a repeated request, which asks for its response from `from` on.
  void ask_again(const Sent& request, Sequence from);
  /// `packet` answers a request with `psn`. The rest of the answer to a READ before it, which was
  /// repeated and whose answer had begun to come again, was lost or comes late. Returns this READ;
  /// null: none.
  const Sent* skip_rest(Sequence psn, const CapturedPacket& packet);
  /// Adds the gaps that the last response showed when it jumped to a later READ, unless the one
  /// with `psn` shows that it was late, or a copy. 0: there is no such response.
  void decide_jump(Sequence psn);
  /// One past its newest response; 0: there was none.
  [[nodiscard]] Sequence next() const noexcept { return next_; }

 private:
  /// Responses in a row that come again, until another one comes.
  struct Row {
    Sequence next = 0, first = 0;  // next: one past its newest PSN
    Instant begin;
    std::uint64_t frame = 0;  // of the other one
    Sequence other = 0;       // its PSN
  };
  using Gaps = std::vector<ResponseGap>;

  /// A LAST or ONLY packet ends the answer to a request, also where that asked for a part.
  void note_end(const CapturedPacket& packet, Sequence psn) noexcept {
    const wire::Position position = packet.info->position;
    if (position == wire::Position::last || position == wire::Position::only) ended_ = psn + 1;
  }
  /// One past the PSNs that the answer to `before`, which next_ goes on with, still has.
  [[nodiscard]] Sequence end_of(const Sent& before) const noexcept {
    return next_ == ended_ ? next_ : before.asked_end();
  }
  void begin_at(const CapturedPacket& packet, Sequence psn) noexcept;
  void begin_inside(const CapturedPacket& packet, Sequence psn, const Sent& request);
  void hold_gap_before(const CapturedPacket& packet, Sequence first, Sequence end);
  [[nodiscard]] bool were_all_sent(const CapturedPacket& packet, Sequence psn);
  [[nodiscard]] bool skip_to_next_read(const CapturedPacket& packet, Sequence psn,
                                       const Sent& request);
  void skip(Sequence first, Sequence end, const CapturedPacket& packet, Gaps& gaps,
            bool may_be_unasked = false);
  void skip_reads(const Sent& before, Sequence end, const CapturedPacket& packet, Gaps& gaps);
  void add_gap(const CapturedPacket& packet, Sequence first, Sequence end);
  void report_rest(const Sent& request, Sequence from);

  FetchState& state_;
  Sequence next_ = 0;   // one past the newest response that came again, in order
  Sequence first_ = 0;  // of the answer
  Sequence row_ = 0;    // of all in a row
  Sequence ended_ = 0;  // one past the newest LAST or ONLY response
  Sequence asked_ = 0;  // the PSN from which the newest repeated request asks
  Sequence end_ = 0;    // one past the highest response that came again since the requester went
                        // back
  Instant begin_;       // when the responder began to answer again, with first_
  std::optional<ResponseGap> before_row_;  // before the newest response, if another one follows it
  Gaps jumped_;                     // before the newest response, if it jumped to a later READ
  std::optional<Row> interrupted_;  // by the newest response, if it was late
  Sequence without_ = 0;            // the response without which the newest answer began; 0: none
  Sequence late_begin_ = 0;         // the newest response, if it may begin an answer late; 0: not
};

}  // namespace lw::analysis
