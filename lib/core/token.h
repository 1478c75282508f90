// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace lw {

/// Compares in a time that depends on the length of `expected` alone.
[[nodiscard]] bool same_token(std::string_view expected, std::string_view given) noexcept;

/// 128 random bits as 32 hexadecimal digits. `file_option`: the option that names a file instead,
/// for the error (environment): the system gives none.
Result<std::string> make_token(std::string_view file_option = "--token-file");

/// The first line of a file, 16 to 256 characters. `option` names the file in errors: environment
/// (it can't be read, or is empty), usage (another length).
Result<std::string> read_token_file(std::string_view option, const std::string& file_name);

}  // namespace lw
