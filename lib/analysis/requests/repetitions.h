// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "analysis/requests/recoveries.h"
#include "analysis/requests/repetition_cause.h"
#include "analysis/requests/stream_state.h"
#include "analysis/requests/wrong_answers.h"

namespace lw::analysis {

/// Packets that were seen before and come again outside of a recovery that goes on: the path has
/// copied them, a recovery begins with them, or they come late in one. Where the packet does not
/// tell, the next one decides.
class Repetitions {
 public:
  /// The arguments must outlive the object.
  Repetitions(StreamState& state, Recoveries& recoveries, const WrongAnswers& wrong) noexcept
      : state_(state), recoveries_(recoveries), wrong_(wrong) {}

  /// Processes a packet that was seen before. `known`: its entry in the log; null: none.
  void note(const CapturedPacket& packet, const Sent& sent, Sent* known);
  /// Decides about the packet before. A requester that misses a response soon repeats the READ or
  /// atomic and all requests after it, because the response to a later one shows the loss. `next`:
  /// PSN of the next request, `packet`; 0 and null: there is none.
  void judge(Sequence next, const CapturedPacket* packet);
  [[nodiscard]] bool none_open() const noexcept { return !doubt_; }

 private:
  struct Taken {
    CapturedPacket packet;
    Sent sent;
  };
  /// A packet that comes again. It is a copy or late, unless the requests after it are repeated as
  /// well.
  struct Doubt {
    CapturedPacket packet;
    Sent sent;
    std::uint64_t nak_frame = 0;   // the NAK that it may answer; 0: none
    RepetitionCause why = {};      // if it begins a recovery, and if this is known
    std::vector<Taken> rest = {};  // those that followed it, which the same recovery has skipped

    /// One past its last PSN.
    [[nodiscard]] Sequence end() const noexcept {
      const Sent& last = rest.empty() ? sent : rest.back().sent;
      return last.psn + last.span;
    }
  };

  void judge_alone(const Doubt& doubt, Sequence next, const CapturedPacket* packet, Sent* known);
  void take_back_answer(const Doubt& doubt);
  bool take_overtaken_original(const CapturedPacket& packet, Sequence psn, Sent* known);
  bool go_on_before_jump(const Doubt& doubt);
  [[nodiscard]] bool goes_on_skipped(Sequence next, const CapturedPacket* packet);
  void begin(const Doubt& doubt, Sent* known, const RepetitionCause& why);
  void add_rest(const Doubt& doubt);
  void fill_in_all(const Recovery& recovery, const Doubt& doubt);
  [[nodiscard]] bool may_come_alone(const Sent& sent, const Sent* known, Cause cause);
  [[nodiscard]] const Recovery* recovery_past(const Sent& known);
  [[nodiscard]] const Recovery* recovery_skipping(const CapturedPacket& packet, Sequence psn,
                                                  const Sent* known, Duration silence);

  StreamState& state_;
  Recoveries& recoveries_;
  const WrongAnswers& wrong_;
  std::optional<Doubt> doubt_;
};

}  // namespace lw::analysis
