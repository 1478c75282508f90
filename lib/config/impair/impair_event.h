// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "config/toml/table.h"
#include "emulator/events/event.h"

namespace lw::config {

/// Reads all [[event]]s: a list of PSNs or occurrences in one becomes an event for each.
/// impair/README.md lists the keys. Mistakes are noted in the document.
std::vector<emulator::EventConfig> read_events(const Table& root);

}  // namespace lw::config
