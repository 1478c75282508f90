// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "config/toml/table.h"
#include "config/toml/value.h"
#include "emulator/direction.h"
#include "emulator/events/event.h"
#include "emulator/match/match.h"

namespace lw::config {

/// Reads a rule's `match`: "rocev2" (default), "all", or a table of conditions;
/// docs/reference/impair-profile.md lists its keys. Errors are recorded in the rule's document.
emulator::MatchConfig read_match(const Table& rule);

/// Reads `direction`: "both" (default), "west-to-east" or "east-to-west".
emulator::Ways read_direction(const Table& table);

/// Reads a packet kind by name, such as "read_response".
Parsed<emulator::PacketKind> read_packet_kind(const Value& value);

/// Reads numbers and ranges in [0, maximum], at least one: `5`, `"0x10-0x1f"`, `[1, 2, "10-20"]`.
/// `wraps`: the last number of a range may be less than the first, as for PSNs.
Parsed<std::vector<emulator::NumberRange>> read_ranges(const Value& value, std::uint32_t maximum,
                                                       bool wraps);

/// read_ranges() as a reader.
inline auto ranges(std::uint32_t maximum, bool wraps = false) {
  return [=](const Value& value) { return read_ranges(value, maximum, wraps); };
}

struct ProfileEvents {
  std::vector<emulator::EventConfig> armed;
  std::vector<emulator::EventConfig> on_command;  // of several events with one name, the first
};

/// Reads all [[event]] tables. An event with several PSNs or occurrences becomes one event for
/// each. docs/reference/impair-profile.md lists the keys. Errors are recorded in the document.
ProfileEvents read_events(const Table& root);

}  // namespace lw::config
