// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace lw {

/// Returns the candidate with the smallest edit distance to a mistyped `word` (a swap of neighbours
/// counts as one edit); empty if more than a third of the letters differ.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// The first character of `text` (not empty), for an error message: a whole UTF-8 character, or
/// "\\x" and two digits for a control character or a byte that is not UTF-8.
std::string first_character(std::string_view text);

/// The start of a text from outside, for an error message: at most kLongestQuote bytes
/// (core/limits.h) of whole UTF-8 characters, with "..." if more follow; control characters become
/// "?".
std::string excerpt(std::string_view text);

/// An error message that may repeat texts from outside: control characters become "?", and of more
/// than kLongestMessage bytes (core/limits.h) the start and the end remain, with "..." between, of
/// at most as many bytes.
std::string bounded_message(std::string message);

/// Checks that the name of an output file doesn't promise compression, since such files are
/// written uncompressed, and has no NUL, at which the system would end it. Error (usage), with the
/// remedy: `path` ends in .gz, .zst, .xz, .bz2 or .lz4, or has a NUL.
Result<void> check_plain_name(std::string_view path);
/// The same, but where the program `packs` the file itself, the name may end in .zst.
Result<void> check_file_name(std::string_view path, bool packs);

}  // namespace lw
