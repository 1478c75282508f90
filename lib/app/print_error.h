// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/error.h"

namespace lw {

/// Flushes standard output, then prints the message to standard error. Returns the error's exit
/// code. The line has no program name in front, so that editors recognize file:line:column.
ExitCode print_error(const Error& error);

}  // namespace lw
