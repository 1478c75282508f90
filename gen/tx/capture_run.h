// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/writer.h"
#include "gen/stats/run_stats.h"
#include "gen/traffic/tx_scheduler.h"

namespace lw::gen {

/// Start of runs in virtual time, 2025-01-01 00:00:00 UTC: constant, so that the same profile and
/// seed give the same file, byte for byte.
inline constexpr Instant kVirtualStart = instant_from_ns(1'735'689'600'000'000'000);

/// Writes a profile's frames into a capture without waiting, with their due times as time stamps.
/// Ends with the flows or at the limits. Errors: the file's.
Result<RunReport> run_into_capture(const config::FlowProfile& profile, TxScheduler& scheduler,
                                   capture::Writer& writer, const Limits& limits);

}  // namespace lw::gen
