// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace lw {

/// Sends a state ("READY=1", "STOPPING=1") to the service manager that started the program, with
/// systemd's protocol: a datagram to the socket in $NOTIFY_SOCKET. Does nothing if that is not set.
/// Ignores failures, because the manager detects a missing state. Thread-safe.
void notify_supervisor(std::string_view state) noexcept;

/// Sends "RELOADING=1" with the time that systemd requires. "READY=1" ends the reload.
void notify_reloading() noexcept;

}  // namespace lw
