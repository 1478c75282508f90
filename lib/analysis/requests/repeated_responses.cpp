// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/repeated_responses.h"

#include <utility>

namespace lw::analysis {

void RepeatedResponses::add(const CapturedPacket& packet, Sequence psn, const Before& before,
                            bool differs) {
  constexpr std::uint32_t kEnough = 2;  // the path copies one
  const bool after_acks = std::exchange(acks_, 0) >= kEnough;
  if (!goes_on(psn)) end();
  if (!run_)
    run_ = std::make_unique<Run>(
        Run{.cause = before.cause, .first = psn, .next = psn, .after_acks = after_acks});
  if (const auto at = psn - run_->first; at < run_->packets.size()) {
    run_->packets[at] = packet;
    run_->originals[at] = before.frame;
  }
  const bool begins = packet.begins_message();
  run_->answers += begins;
  run_->differs |= differs;
  // A copy of a request asks for the same PSNs, and the path does not keep it for long.
  run_->asked_anew |=
      (begins && !before.begins) ||
      (before.stamp && stamp_difference(packet.stamp, *before.stamp) >= kShortestTimer);
  run_->last_frame = packet.number;
  run_->next = psn + 1;
}

/// A copy of one request is answered alone: of several requests, the requester sent them again.
void RepeatedResponses::report() {
  const std::unique_ptr<Run> run = std::move(run_);
  const Sequence packets = run->next - run->first;
  // Where a single one would be a copy, the requests were captured, each once.
  const bool once = run->cause == Cause::path_copy;
  const bool several = (run->answers > 1 || run->after_acks) && !once;
  if (run->differs || run->asked_anew || packets >= kSeveral) {
    const bool resent = run->asked_anew || several;
    const Cause open = once && !run->differs ? Cause::path_copy : Cause::none;
    return report_.response_again(run->packets[0], {run->first, packets, run->originals[0]},
                                  run->last_frame, resent ? Cause::request_resent : open);
  }
  for (Sequence i = 0; i < packets; ++i)
    report_.response_copy(run->packets[i], run->first + i, run->originals[i], run->cause);
}

}  // namespace lw::analysis
