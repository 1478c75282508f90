// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/requests/response_gaps.h"
#include "analysis/requests/sent_log.h"
#include "analysis/requests/stream_report.h"

namespace lw::analysis {

/// Follows the responses to the READs and atomics of one direction: which of them are skipped, come
/// late, or come again.
class FetchResponses {
 public:
  /// The arguments must outlive the object.
  FetchResponses(SentLog& log, StreamCounts& counts, StreamReport& report) noexcept
      : log_(log), counts_(counts), report_(report) {}

  /// Call first for each READ response. Processes one that came before, comes late, or answers an
  /// earlier request of the READ. Returns false if it is none of these: it continues the response
  /// to `read`, or skips a part of it, and take() processes it.
  [[nodiscard]] bool take_out_of_order(const Packet& packet, Sequence psn, Sent& read);
  /// Processes a response that continues that of `read`. Returns whether it ends it. `mtu`: bytes;
  /// nothing: unknown.
  bool take(const Packet& packet, Sequence psn, Sent& read, std::optional<std::uint32_t> mtu);
  /// Processes a response to a READ or atomic that was skipped, or that came before.
  void take_again(const Packet& packet, Sequence psn, Sent& request);

  /// Processes a repeated READ, which requests its response from `from` on, or a repeated atomic.
  void ask_again(Sent& request, Sequence from);
  /// `packet` answers a later request. The rest of the response to this READ or atomic must have
  /// come before: it was lost, or the capture lacks it.
  void skip_rest(Sent& request, const Packet& packet);
  /// Returns the first skipped part that begins in [first, end); nothing: none.
  [[nodiscard]] std::optional<ResponseGap> gap_in(Sequence first, Sequence end) const {
    return gaps_.in(first, end);
  }
  /// Reports what is still missing at the end of the capture.
  void finish() { close_gaps(0, Cause::missing_in_capture); }

 private:
  void skip_rests_before(Sequence end, const Packet& packet);
  void take_late(const Packet& packet, Sequence psn, const ResponseGap& old, Sent& request);
  void add_gap(const ResponseGap& gap);
  void close_gaps(Sequence from, Cause cause);

  SentLog& log_;
  StreamCounts& counts_;
  StreamReport& report_;
  ResponseGaps gaps_;
  Sequence newest_ = 0;    // the newest READ response
  Sequence previous_ = 0;  // the READ response before
};

}  // namespace lw::analysis
