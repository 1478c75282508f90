// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace lw::nic {

/// Takes a Linux interface down, or brings it up, as `ip link set` does: its peer sees the link
/// change. Needs CAP_NET_ADMIN. False: it could not be done.
bool set_interface_up(const std::string& interface, bool up) noexcept;

}  // namespace lw::nic
