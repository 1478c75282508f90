// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lw {

enum class LineEnds : std::uint8_t { hidden, kept };

/// Returns a text from outside (of a profile, a file, a client or a server) for a terminal, a log
/// or a report. "?" stands for what could move the cursor, change colours or the order of letters,
/// or end the line: control characters (C0, DEL, C1), the marks of direction and the separators of
/// lines of Unicode, and bytes that are not UTF-8. `kept`: line feeds stay, of a text that has
/// lines.
std::string visible(std::string_view text, LineEnds ends = LineEnds::hidden);

/// Returns a text of a peer that is expected to be ASCII: all other bytes, too, become "?". At most
/// `most` bytes, then "...".
std::string printable(std::string_view text, std::size_t most);

}  // namespace lw
