// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"

namespace lw {

/// Reads a whole file, or a pipe, of at most `most` bytes; no more than that is read of a longer
/// one. Registers it as an input (core/output.h). Errors: it can't be read, or is a folder
/// (environment); it is longer (usage).
Result<std::string> read_bounded(const std::string& path, std::size_t most);

/// Reads the first line of a file, without its end (LF or CR LF), of `least` to `most` printable
/// ASCII characters. Reads no more than that line may have. Errors: the file can't be read
/// (environment); another line (usage).
Result<std::string> read_first_line(const std::string& path, std::size_t least, std::size_t most);

}  // namespace lw
