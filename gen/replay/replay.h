// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/writer.h"
#include "gen/replay/replay_report.h"
#include "gen/tx/ports.h"

namespace lw::gen {

/// Longer frames fit no port's buffers here.
inline constexpr std::size_t kLongestReplayed = nic::PoolConfig{}.frame_size;

/// Writes the frames down at once. Virtual time begins at the first one's own stamp. Errors: the
/// files'.
Result<ReplayReport> replay_into_capture(ReplaySource& source, capture::Writer& writer,
                                         const Limits& limits);

/// Sends the frames through the first port in real time: each when it is due, or as soon after as
/// the port takes it. A port that takes nothing for 200 ms is given up on, until it takes a frame
/// again. `copy`, where there is one, gets what the port took, with the wall clock's time just
/// before. Errors: the files'.
Result<ReplayReport> replay_through_port(ReplaySource& source, Ports& ports, capture::Writer* copy,
                                         const Limits& limits);

}  // namespace lw::gen
