// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/toml/table.h"
#include "emulator/match/match.h"

namespace lw::config {

/// Reads a rule's `match`: "rocev2" (also when it is absent), "all", or a table of what must hold.
/// impair/README.md lists its keys. Mistakes are noted in the rule's document.
emulator::MatchConfig read_match(const Table& rule);

/// A packet's kind by its name, "read_response".
Parsed<emulator::PacketKind> read_packet_kind(const Value& value);

}  // namespace lw::config
