// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "path/match/match.h"
#include "profile/table.h"

namespace lw::profile {

/// Reads a rule's `match`: "rocev2" (also when it is absent), "all", or a table of what must hold.
/// impair/README.md lists its keys. Mistakes are noted in the rule's document.
path::MatchConfig read_match(const Table& rule);

/// A packet's kind by its name, "read_response".
Parsed<path::PacketKind> read_packet_kind(const Value& value);

}  // namespace lw::profile
