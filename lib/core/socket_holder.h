// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lw {

/// Return the process that has a socket, for messages: "roce-impair (process 1234)"; "another
/// process" if /proc doesn't tell, as it doesn't of another user's process or network namespace, or
/// if several sockets have the port, at different addresses.
std::string listener_at(std::uint16_t tcp_port);
/// `name`: a path, or '@' and the name of an abstract socket.
std::string holder_of_unix_socket(std::string_view name);

}  // namespace lw
