// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "config/toml/table.h"
#include "emulator/rule_config.h"

namespace lw::config {

/// Gives each rule that shares the queue of another rule, or whose queue has classes, the whole
/// queue: RuleConfig::shared in place of RuleConfig::queue. `tables` are those of `rules`, in the
/// same order, with the buffers of their queues known. Errors are recorded in the tables' document.
void share_queues(std::span<const Table> tables, std::span<emulator::RuleConfig* const> rules);

}  // namespace lw::config
