// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include "app/command_line.h"
#include "core/error.h"

namespace lw::gen {

/// Checks a command line of `roce-gen perf`, `sim` or `respond`, up to "--". Errors (usage): it has
/// the words of a former release, --sim or an option of its own for a parameter of DCQCN: the
/// message has the line to use.
Result<void> check_former_line(std::span<const std::string> words);

/// Checks a command line of `roce-gen perf` or `sim`, up to "--". Error (usage): an option that
/// `own`, the command's, lacks, and that `other`, those of the other command, have.
Result<void> check_own_options(std::span<const std::string> words, const app::Options& own,
                               const app::Options& other);

}  // namespace lw::gen
