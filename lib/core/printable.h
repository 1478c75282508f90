// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lw {

/// Returns a text of a peer for a terminal or a log: control characters and bytes beyond ASCII,
/// which could move the cursor or change colours, become "?". At most `most` bytes, then "...".
std::string printable(std::string_view text, std::size_t most);

}  // namespace lw
