// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <sys/un.h>

#include <fmt/format.h>

#include "core/error.h"

namespace lw::impair {

/// Error (usage): a path that the system's address has no room for.
inline Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(fmt::format("socket `{}`: expected a path of 1..{} bytes, found {}", path,
                            sizeof address.sun_path - 1, path.size()));
  path.copy(address.sun_path, path.size());
  return address;
}

}  // namespace lw::impair
