// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "gen/frames/flow_stream.h"
#include "gen/run/run_report.h"

namespace lw::gen {

/// What of a frame is counted once it has left.
struct Departure {
  Duration at{};  // when it was due, from the run's start
  std::uint32_t flow = 0;
  std::uint16_t size = 0, payload = 0;  // bytes, FCS not counted
  bool ends_message = false;
  bool lacks_signature = false;  // that its flow asked for
  std::optional<profile::FaultKind> fault;
};

/// Notes a stream's next frame, `size` bytes, as it will be counted. Field by field: a whole one
/// read back from where its parts were just written waits for the stores (16 of 51 ns a frame).
inline void note(Departure& frame, std::uint32_t flow, Duration at, const FlowStream& stream,
                 std::size_t size) noexcept {
  frame.at = at;
  frame.flow = flow;
  frame.size = static_cast<std::uint16_t>(size);
  frame.payload = static_cast<std::uint16_t>(stream.frame().payload_length(stream.moving()));
  frame.ends_message = stream.ends_message();
  frame.lacks_signature = stream.lacks_signature();
  frame.fault = stream.fault();
}

/// Counts a frame that was sent, in all but the tally's span.
inline void count_sent(FlowTally& tally, const Departure& frame) noexcept {
  if (tally.frames == 0) tally.begin = frame.at;
  ++tally.frames;
  tally.bytes += frame.size;
  tally.wire_bytes += wire_bytes(frame.size);
  tally.payload_bytes += frame.payload;
  tally.messages += frame.ends_message;
  tally.unsigned_frames += frame.lacks_signature;
  if (frame.fault) [[unlikely]]
    ++tally.faults[static_cast<std::size_t>(*frame.fault)];
}

}  // namespace lw::gen
