// SPDX-License-Identifier: BSD-3-Clause
#include "nic/frame_stamps.h"

#include <algorithm>

#include <rte_mbuf_dyn.h>

#include "nic/arrival_clock.h"

namespace lw::nic {

std::optional<FrameStamps> FrameStamps::find() noexcept {
  int field = -1;
  std::uint64_t flag = 0;
  if (rte_mbuf_dyn_rx_timestamp_register(&field, &flag) != 0) return std::nullopt;
  return FrameStamps(field, flag);
}

void FrameStamps::read(std::span<rte_mbuf* const> frames) noexcept {
  constexpr std::int64_t kMicrosecond = 1000;
  count_ = std::min(frames.size(), kMost);
  if (count_ == 0) return;
  const auto clocks = BothClocks::read();
  if (clock_) clock_->follow(clocks.now);
  for (std::size_t i = 0; i < count_; ++i) {
    stamps_[i] = clocks.wall_ns;
    if ((frames[i]->ol_flags & flag_) == 0) continue;
    const rte_mbuf_timestamp_t stamp = *RTE_MBUF_DYNFIELD(frames[i], field_, rte_mbuf_timestamp_t*);
    stamps_[i] = clock_ ? clocks.wall_ns - (clocks.now - clock_->time_of(stamp)).count()
                        : static_cast<std::int64_t>(stamp) * kMicrosecond;
  }
}

}  // namespace lw::nic
