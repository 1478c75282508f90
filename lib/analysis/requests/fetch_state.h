// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analysis/requests/answer_times.h"
#include "analysis/requests/ip_numbers.h"
#include "analysis/requests/response_gaps.h"
#include "analysis/requests/sent_log.h"
#include "analysis/requests/stream_report.h"

namespace lw::analysis {

/// What was seen so far of the responses to the READs and atomics of one direction. The parts of
/// FetchResponses share it.
class FetchState {
 public:
  /// The arguments must outlive the object.
  FetchState(SentLog& sent_log, StreamCounts& stream_counts, const AnswerTimes& answer_times,
             StreamReport& stream_report) noexcept
      : log(sent_log), counts(stream_counts), answers(answer_times), report(stream_report) {}

  /// Notes a response, after it was processed.
  void note(const CapturedPacket& packet, Sequence psn) noexcept {
    newest = psn;
    newest_frame = packet.number;
    newest_ip_id = packet.ip_id;
    if (!packet.has_aeth) return;
    newest_msn = packet.msn;
    newest_msn_psn = psn;
  }
  /// Whether a response comes far sooner after the newest request than any answer does.
  [[nodiscard]] bool is_too_soon(const CapturedPacket& packet, const Sent& request) const noexcept;
  /// Returns a gap that the response shows which is being processed, with ResponseGap::in_row.
  [[nodiscard]] ResponseGap placed(ResponseGap gap) noexcept;
  /// Adds a gap to those that may still be filled.
  void add(const ResponseGap& gap) {
    if (const auto final = gaps.add(gap)) report_missing(*final);
  }
  /// Reports a gap that nothing filled. The requester asked again for what was lost.
  void report_missing(const ResponseGap& gap) {
    report.response_gap(gap,
                        gap.asked_again ? Cause::lost_before_capture : Cause::missing_in_capture);
  }
  /// Reports a gap that the requester may ask for behind the end of the capture.
  void report_open(const ResponseGap& gap) { report.response_gap(gap, Cause::none); }
  /// Whether the capture ends, at `end`, before a requester has asked again for what is missing.
  /// One that goes on with new requests, later than it can have noticed, misses nothing.
  [[nodiscard]] bool may_be_asked(const ResponseGap& gap, Instant end) const {
    constexpr int kRoundTrips = 4;
    constexpr Duration kToAsk = std::chrono::milliseconds{1};
    const Duration to_ask =
        std::max(kToAsk, kRoundTrips * answers.least_round_trip().value_or(Duration{}));
    const bool goes_on = !log.empty() && stamp_difference(log.newest().stamp, gap.stamp) >
                                             answers.least_round_trip().value_or(to_ask);
    return !gap.asked_again && !goes_on && stamp_difference(end, gap.stamp) < to_ask;
  }
  /// Reports responses that were lost.
  void report_lost(const ResponseGap& gap) { report.response_gap(gap, Cause::lost_before_capture); }

  SentLog& log;
  StreamCounts& counts;
  const AnswerTimes& answers;
  StreamReport& report;
  ResponseGaps gaps;  // that may still be filled
  IpNumbers ip_numbers;

  // The newest response.
  Sequence newest = 0;  // PSN
  std::uint64_t newest_frame = 0;
  std::uint16_t newest_ip_id = 0;
  std::uint32_t newest_msn = ~0U;  // none: above all MSNs
  Sequence newest_msn_psn = 0;     // of the response that has it

 private:
  Sequence row_end_ = 0;  // one past the newest gap behind `newest`, shown by this frame:
  std::uint64_t row_frame_ = 0;
};

}  // namespace lw::analysis
