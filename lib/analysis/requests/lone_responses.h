// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/packet.h"
#include "analysis/requests/ip_numbers.h"
#include "analysis/requests/repeated_responses.h"
#include "analysis/requests/response_gaps.h"
#include "analysis/requests/seen_responses.h"
#include "analysis/requests/stream_report.h"

namespace lw::analysis {

/// Follows the responses of a stream of which no request was captured: READ responses and ATOMIC
/// ACKs that come again, gaps within a READ response, and responses that come behind later ones for
/// the first time. Between READ responses, PSNs belong to requests that need no response of their
/// own, so nothing can be said there.
class LoneResponses {
 public:
  LoneResponses(StreamReport& report, StreamCounts& counts)
      : report_(report), counts_(counts), repeated_(report) {}

  /// Processes a READ response or an ATOMIC ACK.
  void take(const CapturedPacket& packet);
  /// Call it after the last packet: no gap will be filled.
  void finish() {
    repeated_.end();
    gaps_.close([this](const ResponseGap& gap) { report_.response_gap(gap, Cause::none); });
  }

 private:
  static constexpr Sequence kLongestGap = 1024;  // packets; a longer one is another message

  [[nodiscard]] Sequence unwrap(std::uint32_t psn) const noexcept;
  void take_again(const CapturedPacket& packet, Sequence psn, const SeenResponse& before);
  void take_missing(const CapturedPacket& packet, Sequence psn);
  void find_gap(const CapturedPacket& packet, Sequence psn);

  StreamReport& report_;
  StreamCounts& counts_;
  IpNumbers ip_numbers_;
  SeenResponses seen_;
  ResponseGaps gaps_;
  Sequence first_ = 0;  // PSN of the first response: those below may have come before the capture
  Sequence newest_ = 0;
  std::uint64_t newest_frame_ = 0;
  Instant newest_stamp_ = {};
  std::optional<Sequence> next_;  // within a READ response: the PSN of its next packet
  RepeatedResponses repeated_;
};

}  // namespace lw::analysis
