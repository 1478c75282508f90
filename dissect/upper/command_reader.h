// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/histogram.h"
#include "dissect/points/capture_points.h"
#include "dissect/sessions/path_analysis.h"
#include "upper/command.h"

namespace lw::dissect {

/// A command, and what the analysis of its connection knows about it.
struct FoundCommand {
  upper::StorageCommand command;
  std::uint32_t point = 0;
  /// Why packets of it came again: token_of() of an anomaly's cause, or of several, "or" between
  /// them; empty: none did.
  std::string recovery_cause = {};
  /// The point nearer to the target that divides path and target; nothing: none.
  std::optional<std::uint32_t> far_point = {};
};

/// Rows are long: they stay at their place in memory while they are sorted.
using FoundCommands = std::vector<std::unique_ptr<FoundCommand>>;

/// The upper layer of a connection, and its ends.
struct FoundConnection {
  upper::UpperFacts facts;
  std::uint32_t point = 0;
  Ends ends;                                  // of the direction of the commands
  std::optional<std::uint64_t> service = {};  // of its connection manager
};

/// Commands of one protocol, operation and size: their latency, in ns.
struct CommandGroup {
  std::uint64_t commands = 0, failed = 0, without_end = 0;
  Histogram latency;
};
/// By protocol, operation and size; of commands of unknown size, nothing.
using CommandKey = std::tuple<upper::UpperProtocol, std::string_view, std::optional<std::uint64_t>>;
using CommandGroups = std::map<CommandKey, CommandGroup>;

/// All commands of a capture.
struct CapturedCommands {
  CapturePoints points;
  std::optional<Instant> begin = {};  // of relative times: the stamp of the first frame
  FoundCommands commands;             // the slowest first; those without an end last
  std::vector<FoundConnection> connections;
  CommandGroups groups;
  std::uint64_t fastest_left_out = 0;  // commands beyond upper::kMostRows
  std::uint64_t roce = 0;              // frames
  std::optional<Error> damage = {};    // that ended a file: the frames before it count
};

/// Reads the commands of a source whose points were decided from it. `forced`: the protocol of all
/// connections; nothing: it is recognised.
CapturedCommands read_commands(FrameSource& source, CapturePoints points,
                               std::optional<upper::UpperProtocol> forced = {});

/// Whether a capture may have commands: a SEND of its first frames begins as one, or a connection
/// manager names the service. Reads `source`.
bool may_have_commands(FrameSource& source);

/// Reads the commands of captures that have some; nothing: there are none, or the captures cannot
/// be read again. Errors: those of `plan.open`.
Result<std::optional<CapturedCommands>> find_commands(const AnalysisPlan& plan);

}  // namespace lw::dissect
