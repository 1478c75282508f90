// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "dissect/fields/capture_time.h"
#include "dissect/upper/command_reader.h"

namespace lw::dissect {

/// The groups with equal operations, or sizes, as one: a key that is not asked for is empty.
CommandGroups grouped(const CommandGroups& groups, bool by_operation, bool by_size);

/// The report as text: the connections, percentiles, and the `slowest` commands.
std::string commands_text(const CapturedCommands& all, std::size_t slowest, TimeStyle style);
/// A line for each connection: what its upper layer is and does.
std::string facts_text(const CapturedCommands& all);
/// The table of percentiles.
std::string groups_text(const CommandGroups& groups);

/// The largest cause of the slowest commands of the operation with the longest latency, in a
/// sentence: "The slowest 12 of 4211 nvme read commands took up to 31 ms, of which 29.8 ms
/// retransmission (timeout) at frame 812." Empty: there are no commands, or none is slow.
std::string slowest_sentence(const CapturedCommands& all);

}  // namespace lw::dissect
