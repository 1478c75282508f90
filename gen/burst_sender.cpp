// SPDX-License-Identifier: BSD-3-Clause
#include "gen/burst_sender.h"

#include <sched.h>

#include <rte_mbuf.h>

#include "nic/clock.h"

namespace lw::gen {
namespace {

constexpr Duration kPatience = std::chrono::milliseconds(200);

}  // namespace

/// Every frame that gets a buffer is written; returns how many did.
std::size_t BurstSender::fill(Instant now) noexcept {
  std::size_t filled = 0;
  for (; filled < count_; ++filled) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(pool_.get());
    if (buffer == nullptr) break;
    DueFrame& due = frames_[filled];
    due.moving.send_time_ns = static_cast<std::uint64_t>(to_ns(now));
    const auto size = static_cast<std::uint16_t>(due.size());
    auto* bytes = reinterpret_cast<std::byte*>(rte_pktmbuf_append(buffer, size));
    due.frame->write(due.moving, {bytes, size});
    audit_.look_at({bytes, size});
    buffers_[filled] = buffer;
  }
  return filled;
}

BurstSender::Outcome BurstSender::send(Instant now, Instant start) noexcept {
  const std::size_t filled = fill(now);
  const std::int64_t wall_clock_ns = nic::wall_clock_ns();
  if (filled > 0) {
    audit_.pacing_error.add((nic::now() - (start + frames_.front().at)).count());
  }
  const Instant give_up = stuck_ ? now : nic::now() + kPatience;
  std::size_t sent = port_.send(std::span(buffers_).first(filled));
  while (sent < filled && nic::now() < give_up) {
    sched_yield();  // on a small machine the reader may be waiting for this very core
    sent += port_.send(std::span(buffers_).subspan(sent, filled - sent));
  }
  stuck_ = filled > 0 && sent == 0;
  for (std::size_t i = sent; i < filled; ++i) rte_pktmbuf_free(buffers_[i]);
  const std::span<const DueFrame> all(frames_.data(), count_);
  count_ = 0;
  return {all.first(sent), all.subspan(sent), wall_clock_ns};
}

}  // namespace lw::gen
