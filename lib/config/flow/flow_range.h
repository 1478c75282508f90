// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "config/flow/flow_profile.h"
#include "config/toml/table.h"

namespace lw::config {

/// Expands a [[flow]] into its `qps` QPs. A key that takes a list is gone through QP by QP, and
/// round by round once it is used up; `KEY_step` is added with every round, so that a single value
/// rises by it from QP to QP. Fields wrap at their width.
/// Each QP has its share of the flow's rate.
std::vector<Flow> read_range(const Table& table, const Flow& first);

/// "linux" (which is none), or ports.
Parsed<std::vector<std::uint16_t>> read_source_ports(const Value& value);

/// The UDP source port that Linux gives the frame: from its flow label, or else from its QPNs.
std::uint16_t linux_source_port(const roce::FrameFields& frame) noexcept;

}  // namespace lw::config
