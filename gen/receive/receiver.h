// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "gen/receive/listener.h"
#include "gen/report/flow_report.h"
#include "gen/report/verdict.h"
#include "gen/stats/limits.h"
#include "gen/stats/watch.h"

namespace lw::gen {

/// What arrived, besides what the measurement knows.
struct ReceiveReport {
  std::uint64_t missed = 0;  // the device saw them and had no room
  Duration elapsed{0};       // from the first frame to the last
};

/// Several lines for people; one line of JSON.
std::string to_text(const ReceiveReport& report, const Measurement& measurement,
                    const FlowNames& names);
std::string to_json(const ReceiveReport& report, const Measurement& measurement,
                    const FlowNames& names, const Verdict* verdict);

/// Ports and the stations that answer there; none, or one a port.
struct ListeningPorts {
  std::span<nic::Port> ports;
  std::span<const std::unique_ptr<ResponderPort>> stations = {};
};

/// Takes every frame off the ports until a limit is reached, a signal comes, ports that read files
/// are at their ends, or, once something has arrived, nothing more has for `until_idle`.
/// Lends the core to others while nothing arrives. Errors: the copy's, the series'.
Result<ReceiveReport> receive_all(const ListeningPorts& ports, Measurement& measurement,
                                  capture::Writer* copy, Watch& watch, const FlowNames& names,
                                  const Limits& limits, std::optional<Duration> until_idle);

/// The same of a capture, at once. Its stamps are the times of arrival; they make latencies where
/// they can be of the clock that stamped the signatures: less than an hour behind them.
Result<ReceiveReport> receive_file(const std::string& path, Measurement& measurement,
                                   const Limits& limits);

}  // namespace lw::gen
