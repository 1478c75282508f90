// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "analysis/requests/stream_state.h"

namespace lw::analysis {

/// Requests whose answer is wrong: their sender does not take it, and sends them again.
struct Refused {
  Sequence first = 0, end = 0;
  std::uint64_t frame = 0;  // of the answer
};

/// Finds answers that no request allows, which are the responder's fault: an ACK or a response at a
/// PSN that was not sent, an ACK in place of the data of a READ or atomic, a READ response to
/// another kind of request. Their requester does not take them, and repeats its request. (IBTA vol.
/// 1, 9.7.5 and 9.9.2)
///
/// An answer at a PSN that was not sent may also belong to requests that the capture lacks, or that
/// come behind it in the capture: it is held until the next request or answer tells.
class WrongAnswers {
 public:
  /// `state` must outlive the object.
  explicit WrongAnswers(StreamState& state) noexcept : state_(state) {}

  /// Holds an ACK or a response of PSN `psn`, which was not sent. False: nothing will tell whether
  /// it is wrong, as it may complete messages that were not captured.
  [[nodiscard]] bool hold(const CapturedPacket& packet, Sequence psn);
  /// Returns the held answer, which is right, as a request with `psn` shows; nothing: none is held,
  /// or it is wrong. `packet`: the request.
  [[nodiscard]] std::optional<CapturedPacket> settle_by_request(Sequence psn);
  /// Like settle_by_request(), for the next answer, `packet`.
  [[nodiscard]] std::optional<CapturedPacket> settle_by_answer(const CapturedPacket& packet,
                                                               Sequence psn);
  [[nodiscard]] bool holds() const noexcept { return held_.has_value(); }
  /// What is still held at the end of the capture.
  [[nodiscard]] std::optional<CapturedPacket> take_held() noexcept;

  /// Processes an ACK with a PSN of a READ or atomic, if it comes in place of its data. Returns
  /// whether it does.
  bool take_in_place_of_data(const CapturedPacket& packet, Sequence psn);
  /// Processes a READ response, if it belongs to one whose packets do not have the requester's MTU.
  /// Returns whether it does.
  bool take_of_other_mtu(const CapturedPacket& packet, Sequence psn);
  /// Whether the newest wrong answer is to the request with this PSN.
  [[nodiscard]] bool refused(Sequence psn) const noexcept {
    return refused_ && psn >= refused_->first && psn < refused_->end;
  }
  /// The requests that the newest wrong answer is to; nothing: there was none.
  [[nodiscard]] const std::optional<Refused>& refused() const noexcept { return refused_; }
  /// Before an answer is placed: `joined` tells whether its connection began before the capture.
  void note_begin(bool joined) noexcept { joined_ = joined; }
  /// Processes a response to `request`, which asks for no data.
  void take_to_other(const CapturedPacket& packet, Sequence psn, const Sent& request);

 private:
  struct Held {
    CapturedPacket packet;
    Sequence psn = 0;
  };
  void report(const CapturedPacket& packet, Sequence psn, std::string wrong, Sequence first,
              Sequence end);
  void report_held();

  StreamState& state_;
  std::optional<Held> held_;
  std::optional<Refused> refused_;             // the newest
  bool joined_ = false;                        // as far as the answers before the newest show
  std::optional<Sequence> next_of_other_mtu_;  // with which a response of another MTU goes on
};

}  // namespace lw::analysis
