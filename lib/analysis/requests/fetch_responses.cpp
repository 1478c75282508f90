// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/fetch_responses.h"

#include <algorithm>
#include <utility>

#include "analysis/requests/request_checks.h"

namespace lw::analysis {

bool FetchResponses::take_out_of_order(const Packet& packet, Sequence psn, Sent& read) {
  const auto at = static_cast<std::uint32_t>(psn - read.psn);
  previous_ = std::exchange(newest_, psn);
  if (psn > previous_ + 1) skip_rests_before(read.psn, packet);
  // Still the response to the earlier request, not interrupted.
  if (read.asked_again && at > read.responses && psn == previous_ + 1) return true;
  if (at >= read.responses) return false;
  take_again(packet, psn, read);
  return true;
}

bool FetchResponses::take(const Packet& packet, Sequence psn, Sent& read,
                          std::optional<std::uint32_t> mtu) {
  const auto at = static_cast<std::uint32_t>(psn - read.psn);
  if (at > read.responses)
    add_gap({read.psn + read.responses, at - read.responses, packet.number, packet.stamp});
  read.responses = at + 1;
  read.response_frame = packet.number;
  read.response_stamp = packet.stamp;
  counts_.payload += packet.payload;
  const bool ends = packet.info->position == wire::Position::last ||
                    packet.info->position == wire::Position::only;
  const bool span_known = std::exchange(read.span_known, read.span_known || ends);
  if (!span_known) read.dma_length += packet.payload;
  if (ends && mtu && read.has_reth && at + 1 != read.span && !read.asked_again)
    report_.read_span(packet, psn, read, at + 1, *mtu);
  if (!ends && (at + 1 != read.span || !span_known)) return false;
  read.answered = true;
  return true;
}

void FetchResponses::take_again(const Packet& packet, Sequence psn, Sent& request) {
  if (const auto gap = gaps_.covering(psn)) return take_late(packet, psn, *gap, request);
  if (!request.asked_again)
    report_.response_copy(packet, psn, request.response_frame, Cause::path_copy);
}

/// Processes a response that was skipped: it is late, or was requested again.
void FetchResponses::take_late(const Packet& packet, Sequence psn, const ResponseGap& old,
                               Sent& request) {
  counts_.payload += packet.payload;
  const Duration since_asked = stamp_difference(packet.stamp, request.last_stamp);
  if (request.asked_again && since_asked >= Duration{counts_.rtt.minimum()})
    report_.response_gap({psn, 1, old.frame, old.stamp}, Cause::lost_before_capture);
  else
    report_.late_response(packet, psn, old);
  gaps_.remove(old.first);
  if (psn > old.first) add_gap({old.first, psn - old.first, old.frame, old.stamp});
  const Sequence end = old.first + old.packets;
  if (psn + 1 < end) add_gap({psn + 1, end - psn - 1, old.frame, old.stamp});
  request.response_frame = packet.number;
  request.response_stamp = packet.stamp;
  request.answered =
      request.responses == request.span && !gaps_.in(request.psn, request.psn + request.span);
}

void FetchResponses::ask_again(Sent& request, Sequence from) {
  const auto at = static_cast<std::uint32_t>(from - request.psn);
  close_gaps(from, Cause::lost_before_capture);
  request.asked_again = true;
  request.answered = false;  // the requester has not taken the answer
  request.responses = std::min(request.responses, at);
}

void FetchResponses::skip_rest(Sent& request, const Packet& packet) {
  // After a repeated request, responses to the earlier one may still come.
  const Sequence expected = request.psn + request.responses;
  if (request.asked_again && previous_ + 1 != expected) return;
  add_gap({expected, request.span - request.responses, packet.number, packet.stamp});
  request.responses = request.span;
  previous_ = request.psn + request.span - 1;
}

/// The responses continue at the READ with the PSN `end`: READs before it that were requested
/// again, and not answered since, lost the rest of their responses.
void FetchResponses::skip_rests_before(Sequence end, const Packet& packet) {
  const Sent* const first = log_.find(previous_ + 1);
  if (first == nullptr) return;
  log_.for_each(first->psn, end, [&](Sent& sent) {
    if (!sent.seen || !sent.asked_again || sent.answered || !is_read(sent.opcode)) return;
    const Sequence missing = std::max(sent.psn + sent.responses, previous_ + 1);
    if (missing >= sent.psn + sent.span) return;
    add_gap({missing, sent.psn + sent.span - missing, packet.number, packet.stamp});
    sent.responses = sent.span;
  });
}

void FetchResponses::add_gap(const ResponseGap& gap) {
  if (const auto old = gaps_.add(gap)) report_.response_gap(*old, Cause::missing_in_capture);
}

/// Ends the wait for the skipped parts from `from` on.
void FetchResponses::close_gaps(Sequence from, Cause cause) {
  gaps_.close(from, [&](const ResponseGap& gap) { report_.response_gap(gap, cause); });
}

}  // namespace lw::analysis
