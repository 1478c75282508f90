// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include "core/error.h"
#include "report/figures/json.h"

namespace lw::report {

/// What a figure means, with its unit, unless it counts frames or bytes: "Median, in ns."
std::string description_of(const Figure& figure);

/// The JSON Schema (draft 2020-12) of an output: all keys, their types, descriptions and units, and
/// nothing else allowed. It refers to no other schema.
Json schema_of(const JsonOutput& output);

/// Writes the schemas to files, whose names are NAME.json. Errors: not one path for each output; a
/// file that cannot be written.
Result<void> write_schemas(std::span<const JsonOutput> outputs, std::span<const std::string> paths);

}  // namespace lw::report
