// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "config/toml/table.h"
#include "emulator/events/event.h"

namespace lw::config {

/// Reads all [[event]] tables. An event with several PSNs or occurrences becomes one event for
/// each. impair/README.md lists the keys. Errors are recorded in the document.
std::vector<emulator::EventConfig> read_events(const Table& root);

}  // namespace lw::config
