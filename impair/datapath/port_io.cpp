// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/port_io.h"

#include <algorithm>
#include <cstring>

#include "impair/datapath/forwarder_impl.h"

namespace lw::impair {

void MbufAccess::store(std::span<rte_mbuf* const> frames, std::span<rte_mbuf*> stored) noexcept {
  const rte_mempool* pool = frames.front()->pool;
  const bool scarce = rte_mempool_get_ops(pool->ops_index)->get_count(pool) < kFewBuffers;
  const std::uint32_t longest = scarce ? UINT32_MAX : kSmallFrame;
  std::array<rte_mbuf*, emulator::Rule::kMostTogether> copied;
  unsigned copies = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    rte_mbuf* const frame = frames[i];
    rte_mbuf* const copy = length(frame) <= longest ? arena_->copy(frame) : nullptr;
    if (copy) copied[copies++] = frame;
    stored[i] = copy ? copy : frame;
  }
  rte_pktmbuf_free_bulk(copied.data(), copies);
}

/// `before`: a moment before the port's ring was read.
void PortIo::note_arrivals(std::size_t frames, Instant before) noexcept {
  arrivals_ = {};
  if (frames > 0) {
    const auto clocks = nic::BothClocks::read();
    arrivals_ = arrival_clock_.arrivals_of(from_->stamps(), clocks.now, clocks.wall_ns);
  }
  // Without a buffer, frames stay in the ring: queues must go on, to free some.
  if (frames == 0 || from_->is_drained()) arrival_clock_.seen_empty(before);
}

std::span<const Instant> PortIo::departures() noexcept {
  const std::span<const std::int64_t> stamps = to_->departures();
  if (stamps.empty()) return {};
  const auto clocks = nic::BothClocks::read();
  for (std::size_t i = 0; i < stamps.size(); ++i)
    departures_[i] = clocks.now - Duration{clocks.wall_ns - stamps[i]};
  return std::span(departures_).first(stamps.size());
}

std::size_t PortIo::make_own(std::span<Handle> frames, bool edits) noexcept {
  const auto foreign = [edits](const rte_mbuf* frame) {
    return impair::is_held_by_others(frame) || (edits && is_shared(frame));
  };
  if (std::ranges::none_of(frames, foreign)) [[likely]]
    return frames.size();
  for (rte_mbuf*& frame : frames) {
    if (!foreign(frame)) continue;
    if (const auto own = MbufAccess::clone(frame)) {
      rte_pktmbuf_free(frame);
      frame = *own;
    }
  }
  return static_cast<std::size_t>(std::ranges::find_if(frames, is_held_by_others) - frames.begin());
}

std::optional<rte_mbuf*> PortIo::make_frame(std::span<const std::byte> bytes) noexcept {
  rte_mbuf* frame = rte_pktmbuf_alloc(pool_);
  if (!frame) return std::nullopt;
  std::memcpy(rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size())), bytes.data(),
              bytes.size());
  return frame;
}

template class Forwarder<PortIo>;

}  // namespace lw::impair
