// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace lw::impair {

/// Sends `text` to the Unix socket at `path` and returns all that comes back before it closes.
/// Waits 30 s for it at most. Errors: environment.
Result<std::string> request(const std::string& path, std::string_view text);

}  // namespace lw::impair
