// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace lw {

/// Compares two tokens in a time that depends only on the length of `expected`, so that the time
/// reveals nothing.
[[nodiscard]] bool same_token(std::string_view expected, std::string_view given) noexcept;

/// Returns 128 random bits as 32 hexadecimal digits. Error (environment): the system provides no
/// random bits; the message suggests the option `file_option`, which reads a token from a file.
Result<std::string> make_token(std::string_view file_option = "--token-file");

/// Returns the first line of a file, 16 to 256 characters. `option` names the file in errors: those
/// of read_first_line().
Result<std::string> read_token_file(std::string_view option, const std::string& file_name);

}  // namespace lw
