// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/writer.h"
#include "gen/report/run_report.h"
#include "gen/stats/limits.h"
#include "gen/traffic/tx_scheduler.h"

namespace lw::gen {

/// The time at which every run in virtual time begins, 2025-01-01 00:00:00 UTC: fixed, so that
/// the same profile and seed give the same file, byte for byte.
inline constexpr Instant kVirtualStart = instant_from_ns(1'735'689'600'000'000'000);

/// Writes a profile's frames into a capture as fast as the file takes them, each stamped with the
/// time at which it is due. Ends when the flows or the limits do. Errors: the file's.
Result<RunReport> run_into_capture(const config::FlowProfile& profile, TxScheduler& scheduler,
                                   capture::Writer& writer, const Limits& limits);

}  // namespace lw::gen
