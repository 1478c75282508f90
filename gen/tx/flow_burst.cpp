// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/flow_burst.h"

#include <algorithm>

#include "nic/clock.h"

namespace lw::gen {
namespace {

wire::Bytes bytes_of(const rte_mbuf* buffer) noexcept {
  return {rte_pktmbuf_mtod(buffer, const std::byte*), buffer->data_len};
}

}  // namespace

void FlowBurst::make_copies() {
  const auto frames = burst_.frames();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const wire::Bytes frame = bytes_of(frames[i]);
    copies_[i].assign(frame.begin(), frame.end());
  }
}

FlowBurst::Outcome FlowBurst::send(Instant start) noexcept {
  if (count_ == 0) return {};
  Outcome outcome{.groups = std::span(groups_).first(group_count_), .flows = flows_};
  if (const auto frames = burst_.frames(); !frames.empty()) {
    if (!copies_.empty()) {
      make_copies();
      outcome.wall_clock_ns = nic::wall_clock_ns();
    }
    audit_->look_at(frames.size(), [&](std::size_t i) { return bytes_of(frames[i]); });
    const Instant now = nic::now();
    // A timed port gets its frames early.
    const Duration late = now - (start + first_due_);
    audit_->pacing_error.add(std::max(late, Duration{0}).count());
    outcome.sent = burst_.send(now);
    outcome.clock = outcome.sent == frames.size() ? now : nic::now();  // it may have retried
  }
  outcome.complete = outcome.sent == count_;
  count_ = group_count_ = 0;
  return outcome;
}

}  // namespace lw::gen
