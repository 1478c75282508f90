// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/machine.h"
#include "report/json_line.h"

namespace lw::gen {

/// Reads a time in ns. Throws an exception of nlohmann-json.
Duration time_in(const report::Json& json);

/// What the machine of a rank lost and delayed, for rank 0.
report::Json machine_json(const Machine& machine);
/// Adds it to that of all ranks: its places have the name of the `host`. Throws an exception of
/// nlohmann-json: a key is missing, or another type.
void add_machine(Machine& whole, const std::string& host, const report::Json& json);

}  // namespace lw::gen
