// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "path/events/event.h"
#include "profile/table.h"

namespace lw::profile {

/// Reads all [[event]]s: a list of PSNs or occurrences in one becomes an event for each.
/// impair/README.md lists the keys. Mistakes are noted in the document.
std::vector<path::EventConfig> read_events(const Table& root);

}  // namespace lw::profile
