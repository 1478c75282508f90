// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "analysis/packet.h"
#include "analysis/requests/ip_numbers.h"
#include "analysis/requests/response_gaps.h"
#include "analysis/requests/stream_report.h"

namespace lw::analysis {

/// Follows the responses of a stream of which no request was captured: READ responses and ATOMIC
/// ACKs that come again, gaps within a READ response, and responses that come behind later ones for
/// the first time. Between READ responses, PSNs belong to requests that need no response of their
/// own, so nothing can be said there.
class LoneResponses {
 public:
  LoneResponses(StreamReport& report, StreamCounts& counts) : report_(report), counts_(counts) {}

  /// Processes a READ response or an ATOMIC ACK.
  void take(const CapturedPacket& packet);
  /// Call it after the last packet: no gap will be filled.
  void finish() {
    gaps_.close([this](const ResponseGap& gap) { report_.response_gap(gap, Cause::none); });
  }

 private:
  struct Seen {
    Sequence psn = 0;
    std::uint64_t frame = 0;
    std::uint32_t msn = 0;
    std::uint16_t ip_id = 0;
  };
  /// Responses that are remembered, by their PSN: 2 KiB a stream, of which there may be 40,000.
  static constexpr std::size_t kMost = 64;
  static constexpr Sequence kLongestGap = 1024;  // packets; a longer one is another message

  [[nodiscard]] Sequence unwrap(std::uint32_t psn) const noexcept;
  void take_again(const CapturedPacket& packet, Sequence psn, const Seen& first);
  void take_missing(const CapturedPacket& packet, Sequence psn);
  void find_gap(const CapturedPacket& packet, Sequence psn);

  StreamReport& report_;
  StreamCounts& counts_;
  IpNumbers ip_numbers_;
  std::unique_ptr<std::array<Seen, kMost>> seen_;
  ResponseGaps gaps_;
  Sequence first_ = 0;  // PSN of the first response: those below may have come before the capture
  Sequence newest_ = 0;
  std::uint64_t newest_frame_ = 0;
  Instant newest_stamp_ = {};
  std::optional<Sequence> next_;  // within a READ response: the PSN of its next packet
  Sequence again_ = 0;            // one past the last response that came again
};

}  // namespace lw::analysis
