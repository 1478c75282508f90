// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "app/command_line.h"
#include "core/error.h"
#include "core/output.h"

namespace lw::app {

/// Adds --rotate and --ring, for the file of option `of`.
void add_rotation_options(Options& list, Rotation& rotation, std::string_view of);

/// Error (usage): --ring without --rotate, or --rotate without the file of option `of`.
Result<void> check_rotation(const Rotation& rotation, bool has_file, std::string_view of);

}  // namespace lw::app
