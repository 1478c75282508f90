// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "config/flow/profile.h"

namespace lw::config {

class Table;

/// Reads every `[[host]]` of the profile's root. Errors are recorded in the table's document.
std::vector<RankHost> read_hosts(const Table& root);

/// Reads the flow's `host`, the name of one of `hosts`.
void read_host_of_flow(const Table& table, const std::vector<RankHost>& hosts, Flow& flow);

}  // namespace lw::config
