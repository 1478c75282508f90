// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/error.h"
#include "nic/port_spec.h"

namespace lw::nic {

/// What DPDK wants to hear to probe a port.
struct DeviceArguments {
  std::string name;       // of the device once it is there
  std::string arguments;  // name and options
};

/// `ordinal` keeps the names of this process's devices apart; `frame_size` is what one frame may
/// need at most. Checks that files and interfaces are there (environment), so that the message
/// is ours and not a driver's.
Result<DeviceArguments> device_arguments(const PortSpec& spec, int ordinal,
                                         std::uint32_t frame_size);

}  // namespace lw::nic
