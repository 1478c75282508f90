// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/stats/run_stats.h"
#include "gen/traffic/hot_flow.h"

namespace lw::gen {

/// Consecutive frames of a burst with equal FrameInfo, of one flow or of kSeveral.
struct TxGroup {
  static constexpr std::uint32_t kSeveral = UINT32_MAX;

  std::uint32_t flow = 0, frames = 0;
  FrameInfo info;
};

/// Counts `frames` frames as sent. Doesn't set the counters' times.
inline void count_sent(FlowCounters& counters, const FrameInfo& info,
                       std::uint64_t frames) noexcept {
  counters.frames += frames;
  counters.bytes += frames * info.size;
  counters.wire_bytes += frames * wire_bytes(info.size);
  counters.payload_bytes += frames * info.payload;
  if (info.has(FrameInfo::kEndsMessage)) counters.messages += frames;
  if (info.has(FrameInfo::kLacksSignature)) counters.unsigned_frames += frames;
  if (info.fault() != FrameInfo::kNoFault) [[unlikely]]
    counters.faults[info.fault()] += frames;
}

/// Counts `frames` frames, which were counted as sent, as not sent.
inline void count_not_sent(FlowCounters& counters, const FrameInfo& info,
                           std::uint64_t frames) noexcept {
  count_sent(counters, info, -frames);  // modulo 2^64, as all counters are
  counters.not_sent += frames;
}

}  // namespace lw::gen
