// SPDX-License-Identifier: BSD-3-Clause
#include "impair/loop/way.h"

#include <algorithm>

namespace lw::impair {

bool Way::turn(bool receiving) noexcept {
  std::size_t moved = 0;
  if (receiving) {
    // What could not leave again is not taken in: a blocked way out shows at the device's ring.
    std::size_t room = std::min(kBurst, lane_.egress_room());
    // A file waits, unlike a wire.
    if (from_->finite()) room = std::min(room, lane_.queue_room());
    moved = room ? from_->receive(std::span(burst_).first(room)) : 0;
  }
  const Instant now = nic::now();
  lane_.release(now, moved);
  if (moved) {
    last_received_ = now;
    admit(std::span(burst_).first(moved), now);
  }
  moved += send();
  if (moved) lane_.flush_ledger();
  return moved != 0;
}

void Way::admit(std::span<rte_mbuf*> frames, Instant now) noexcept {
  std::array<rte_mbuf*, kBurst> dropped;
  unsigned drops = 0;
  if (lane_.pipeline().edits()) make_own(frames);
  for (rte_mbuf* frame : frames)
    if (!lane_.admit(frame, envelope_of(frame), now)) dropped[drops++] = frame;
  if (drops) rte_pktmbuf_free_bulk(dropped.data(), drops);
}

/// Frames that stages may change are nobody else's. Where there is no buffer for a copy the frame
/// stays as it is, and the lane drops it if it is to be changed.
void Way::make_own(std::span<rte_mbuf*> frames) noexcept {
  for (rte_mbuf*& frame : frames) {
    if (!is_shared(frame)) [[likely]]
      continue;
    if (const auto own = MbufAccess::clone(frame)) {
      rte_pktmbuf_free(frame);
      frame = *own;
    }
  }
}

std::size_t Way::send() noexcept {
  std::size_t total = 0;
  while (true) {
    auto out = lane_.egress();
    out = out.first(std::min(out.size(), kSendBurst));
    if (out.empty()) return total;
    const std::size_t count = to_->send(out);
    if (count) lane_.sent(count, nic::now());
    total += count;
    if (count < out.size()) return total;
  }
}

void Way::abandon() noexcept {
  lane_.abandon([](rte_mbuf* frame) { return envelope_of(frame); },
                [](rte_mbuf* frame) { rte_pktmbuf_free(frame); });
  lane_.flush_ledger();
}

}  // namespace lw::impair
