// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "app/command_line.h"
#include "core/figure.h"

namespace lw::app {

/// The names of a setting's option: "-t,--tx-depth"; "--nic-latency" of the row nic_latency_ns.
std::string option_names(const Figure& row);

/// Adds an option for each setting of `object`, the struct of the table: `rpg_time_reset` is
/// --rpg-time-reset, and nic_latency_ns, a quantity, --nic-latency, unless the row has other names.
/// Its value in `object` is the default. One that is false by default is an option without a value.
/// `object` must outlive the command line.
void add_settings(Options& options, const FigureTable& table, void* object);

}  // namespace lw::app
