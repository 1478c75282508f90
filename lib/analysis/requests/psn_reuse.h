// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "analysis/requests/sent_log.h"
#include "analysis/requests/stream_report.h"

namespace lw::analysis {

/// Finds packets that are other requests than those that had their PSNs before, and reports those
/// that come in a row as one anomaly. Nothing follows from them for losses or answers.
class PsnReuse {
 public:
  /// `report` must outlive the object.
  explicit PsnReuse(StreamReport& report) noexcept : report_(report) {}

  /// Processes a packet whose first PSN is `psn`, one of `known`, and that takes `span` PSNs.
  /// Returns whether it is another request than `known`.
  bool note(const CapturedPacket& packet, Sequence psn, std::uint32_t span, Sent& known);
  /// Reports the packets so far. Call it before any other packet, and at the end.
  void finish() {
    if (seen_) report_.add(*seen_);
    seen_.reset();
  }

 private:
  [[nodiscard]] bool has_rest(const CapturedPacket& packet, Sequence psn) const noexcept;

  StreamReport& report_;
  std::optional<Anomaly> seen_;             // of packets in a row, until another one comes
  Sequence first_ = 0, next_ = 0;           // their first PSN, and one past their last
  const wire::OpcodeInfo* info_ = nullptr;  // of the newest one
};

}  // namespace lw::analysis
