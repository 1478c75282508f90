// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "capture/source.h"
#include "core/error.h"

namespace lw::capture {

/// "FILE: offset N: what is wrong there", where N is of the next byte. Exit 1: the file is at
/// fault, not the command line.
inline std::unexpected<Error> damaged(const Source& source, std::string_view what) {
  return fail(fmt::format("{}: offset {}: {}", source.name(), source.offset(), what),
              ExitCode::failed);
}

/// The file ends, or reading fails, within `what`, which needs `needed` bytes.
inline std::unexpected<Error> cut(const Source& source, std::string_view what, std::uint64_t needed,
                                  std::size_t found) {
  if (source.read_error()) {
    return fail(fmt::format("{}: offset {}: cannot be read: {}", source.name(),
                            source.offset() + found, *source.read_error()),
                ExitCode::environment);
  }
  return damaged(source,
                 fmt::format("the file is cut in the middle of {}: {} of {} bytes are there", what,
                             found, needed));
}

}  // namespace lw::capture
