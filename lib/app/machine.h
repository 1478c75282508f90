// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lw::app {

/// What a result depends on besides the profile: time and host, CPU, usable cores, kernel, memory,
/// free hugepages, clock source; as names and texts. Unknown ones are left out.
std::vector<std::pair<std::string, std::string>> machine_lines();

/// A port as it was named: for a Linux interface its driver, speed and MTU, for a PCI address its
/// driver; otherwise the name.
std::string port_fact(const std::string& port);

}  // namespace lw::app
