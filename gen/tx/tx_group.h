// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/report/run_report.h"
#include "gen/traffic/hot_flow.h"

namespace lw::gen {

/// Frames in a row that are counted alike: all of one flow, or each of another one's.
struct TxGroup {
  static constexpr std::uint32_t kSeveral = UINT32_MAX;  // flows

  std::uint32_t flow = 0, frames = 0;
  FrameInfo facts;
};

/// Counts so many frames as sent, in all but the tally's times.
inline void count_sent(FlowTally& tally, const FrameInfo& facts, std::uint64_t frames) noexcept {
  tally.frames += frames;
  tally.bytes += frames * facts.size;
  tally.wire_bytes += frames * wire_bytes(facts.size);
  tally.payload_bytes += frames * facts.payload;
  if (facts.has(FrameInfo::kEndsMessage)) tally.messages += frames;
  if (facts.has(FrameInfo::kLacksSignature)) tally.unsigned_frames += frames;
  if (facts.fault() != FrameInfo::kSound) [[unlikely]]
    tally.faults[facts.fault()] += frames;
}

/// Frames that were counted as sent are given up instead.
inline void count_given_up(FlowTally& tally, const FrameInfo& facts,
                           std::uint64_t frames) noexcept {
  count_sent(tally, facts, -frames);  // modulo 2^64, as all counts are
  tally.not_sent += frames;
}

}  // namespace lw::gen
