// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "net/socket.h"

/// What the server and the process that runs a configuration say to each other: texts with their
/// length before them, over a socket pair.
namespace lw::gen::otg {

/// Sends a text. Returns false if the other end has gone, or has not taken it within `timeout`.
bool send_text(const net::Socket& socket, std::string_view text, Duration timeout);

/// Receives a text of at most `most` bytes. Returns nothing if none is complete within `timeout`,
/// if it is longer, or if the other end has gone.
std::optional<std::string> receive_text(const net::Socket& socket, std::size_t most,
                                        Duration timeout);

/// Whether a text, or the end of the other process, waits to be received.
bool has_text(const net::Socket& socket) noexcept;

}  // namespace lw::gen::otg
