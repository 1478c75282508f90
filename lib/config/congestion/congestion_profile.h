// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/error.h"
#include "core/figure.h"

namespace lw::config {

/// Sets the settings of `object`, the struct of `rows`, from the table [cc] of a congestion control
/// profile: a path, or a name as in find_profile(). Keys that it lacks stay as they are. Errors
/// (usage), with file:line:column: not TOML, no [cc], an unknown key, a value out of its bounds.
Result<void> load_congestion_profile(const std::string& file, const FigureTable& rows,
                                     void* object);

}  // namespace lw::config
