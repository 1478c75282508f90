// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "config/flow/profile.h"
#include "config/toml/value.h"

namespace lw::config {

class Table;

/// Checks that all [[flow]]s together have at most kMostQps QPs (config/limits.h), before any of
/// them takes memory. Returns false if they have more (error recorded).
bool check_qp_count(const std::vector<Table>& flows);

/// Expands a [[flow]] into its `qps` QPs, which it adds to `flows`; first.id is their number. QP i
/// takes value i of a key's list, cyclically; each further cycle adds `KEY_step`. A single value
/// therefore rises by the step from QP to QP. Fields wrap at their width. The QPs share the flow's
/// rate equally.
void read_qp_range(const Table& table, const Flow& first, std::vector<Flow>& flows);

/// Reads a list of UDP source ports; "linux" gives an empty list.
Parsed<std::vector<std::uint16_t>> read_source_ports(const Value& value);

/// The UDP source port that Linux uses: derived from the flow label if set, otherwise from the
/// QPNs.
std::uint16_t linux_source_port(const roce::FrameFields& frame) noexcept;

}  // namespace lw::config
