// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace lw {

/// Sends a state ("READY=1", "STOPPING=1") to the service manager that started the program, by
/// systemd's protocol: a datagram to the socket that $NOTIFY_SOCKET names. Does nothing where there
/// is none; a failure is ignored, as the manager notices what it misses. Thread-safe.
void notify_supervisor(std::string_view state) noexcept;

/// Sends "RELOADING=1" with the time that systemd asks for. "READY=1" ends the reload.
void notify_reloading() noexcept;

}  // namespace lw
