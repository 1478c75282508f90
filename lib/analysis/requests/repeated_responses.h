// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "analysis/packet.h"
#include "analysis/requests/stream_report.h"

namespace lw::analysis {

/// Follows responses in a row that came before, without the requests that they answer. The path
/// copies single packets, so several in a row were sent again: their request came again.
class RepeatedResponses {
 public:
  static constexpr std::uint64_t kSeveral = 3;  // the path copies fewer responses in a row

  /// What is known of a response's first appearance.
  struct Before {
    std::uint64_t frame = 0;
    std::optional<Instant> stamp = {};
    bool begins = true;  // an answer
    Cause cause =
        Cause::none;  // of a single one: path_copy; none: it may also have been sent again
  };

  /// `report` must outlive the object.
  explicit RepeatedResponses(StreamReport& report) : report_(report) {}

  /// Whether a response continues the row.
  [[nodiscard]] bool goes_on(Sequence psn) const noexcept { return run_ && psn == run_->next; }
  /// Processes an ACK. A responder sends the same one again for each WRITE or SEND that comes
  /// again.
  void take_ack(const CapturedPacket& packet) noexcept {
    acks_ = packet.psn == ack_psn_ && packet.msn == ack_msn_ ? acks_ + 1 : 0;
    ack_psn_ = packet.psn;
    ack_msn_ = packet.msn;
  }
  /// Adds a response. `differs`: from its first appearance, so it is no copy.
  void add(const CapturedPacket& packet, Sequence psn, const Before& before, bool differs);
  /// Reports the row. Call it before a response that came for the first time, and at the end.
  void end() {
    acks_ = 0;
    if (run_) report();
  }

 private:
  struct Run {
    std::array<CapturedPacket, 2> packets = {};   // the first ones
    std::array<std::uint64_t, 2> originals = {};  // frames in which these came before
    Cause cause = Cause::none;                    // if it is no row
    Sequence first = 0, next = 0;
    std::uint64_t last_frame = 0;
    std::uint32_t answers = 0;  // that begin in it
    bool differs = false;
    bool asked_anew = false;  // by another request packet than before
    bool after_acks = false;  // that came again: other requests came again before it
  };

  void report();

  StreamReport& report_;
  std::unique_ptr<Run> run_;
  std::uint32_t acks_ = 0;                     // that came again, since the newest response
  std::uint32_t ack_psn_ = ~0U, ack_msn_ = 0;  // of the newest one
};

}  // namespace lw::analysis
