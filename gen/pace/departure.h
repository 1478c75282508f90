// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/pace/flow_source.h"
#include "gen/run/run_report.h"

namespace lw::gen {

/// Frames in a row of one flow that are counted alike.
struct Departure {
  Duration at{};  // when the first was due, from the run's start
  std::uint32_t flow = 0, frames = 0;
  FrameFacts facts;
};

/// Counts the first `frames` of them as sent, in all but the tally's span.
inline void count_sent(FlowTally& tally, const Departure& departure,
                       std::uint64_t frames) noexcept {
  const FrameFacts& facts = departure.facts;
  if (tally.frames == 0) tally.begin = departure.at;
  tally.frames += frames;
  tally.bytes += frames * facts.size;
  tally.wire_bytes += frames * wire_bytes(facts.size);
  tally.payload_bytes += frames * facts.payload;
  if (facts.ends_message) tally.messages += frames;
  if (facts.lacks_signature) tally.unsigned_frames += frames;
  if (facts.fault != FrameFacts::kSound) [[unlikely]]
    tally.faults[facts.fault] += frames;
}

}  // namespace lw::gen
