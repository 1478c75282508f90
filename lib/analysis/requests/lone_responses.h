// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
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
  void note(const CapturedPacket& packet);
  /// Processes an ACK.
  void take_ack(const CapturedPacket& packet) noexcept { repeated_.take_ack(packet); }
  /// Call it after the last packet: no gap will be filled.
  void finish() {
    judge_held(0);
    if (cut_) end_cut();
    repeated_.end();
    gaps_.close([this](const ResponseGap& gap) { report_.response_gap(gap, Cause::none); });
  }

 private:
  static constexpr std::uint64_t kSeveral = RepeatedResponses::kSeveral;
  static constexpr Sequence kLongestGap = 1024;  // packets; a longer one is another message

  [[nodiscard]] Sequence unwrap(std::uint32_t psn) const noexcept;
  void take_again(const CapturedPacket& packet, Sequence psn, const SeenResponse& before);
  [[nodiscard]] std::optional<bool> was_sent_again(const CapturedPacket& packet, Sequence psn,
                                                   const SeenResponse& before) const noexcept;
  bool take_overtaken(const CapturedPacket& packet, Sequence psn);
  void judge_held(Sequence psn);
  void take_missing(const CapturedPacket& packet, Sequence psn, bool again);
  void find_gap(const CapturedPacket& packet, Sequence psn, bool sent);
  std::optional<ResponseGap> fill_gap(Sequence psn);
  void end_cut();
  void add_gap(const ResponseGap& gap);

  StreamReport& report_;
  StreamCounts& counts_;
  IpNumbers ip_numbers_;
  SeenResponses seen_;
  ResponseGaps gaps_;
  Sequence first_ = 0;  // PSN of the first response: those below may have come before the capture
  Sequence newest_ = 0;
  std::uint64_t newest_frame_ = 0;
  Instant newest_stamp_ = {};
  struct Aeth {
    Sequence psn = 0;
    std::uint32_t msn = 0;
    bool begins = false;  // an answer, so it is that of a later message
  } newest_aeth_;         // of the highest PSN
  struct Last {
    Sequence psn = 0;
    bool again = false;  // it was sent again
  } last_;               // the newest response
  struct Held {
    CapturedPacket packet;
    Sequence psn = 0;
  };
  std::unique_ptr<Held> held_;  // the newest response, if the next one tells whether it was late
  /// A READ response that another response has cut.
  struct Cut {
    Sequence next = 0;        // the PSN with which it goes on; 0: it was whole
    Sequence by = 0;          // PSN of the other one, if it does not begin its answer; 0: it does
    std::uint64_t row = 1;    // responses in a row from there on
    bool sent = false;        // the other one is no copy of the path; false: kSeveral in a row tell
    std::uint64_t frame = 0;  // of the other one
    Instant stamp;
  };
  std::optional<Cut> cut_;        // by the newest response
  bool has_begun_ = false;        // there was a response
  std::optional<Sequence> next_;  // within a READ response: the PSN of its next packet
  RepeatedResponses repeated_;
};

}  // namespace lw::analysis
