// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lw::app {

/// Returns the first line of a file below /sys; empty if there is none.
std::string sys_line(const std::string& path);
/// Returns the last name in the target of a symbolic link below /sys, such as that of a driver;
/// empty if there is none.
std::string sys_link(const std::string& path);
/// Returns "512 free pages of 2048kB", of all sizes with free pages; empty if no page is free.
std::string free_hugepages();
/// Returns the kernel's clock source, "tsc"; empty if unknown.
std::string clock_source();
/// Returns the CPUs that are kept from other work, "2-3"; empty if there are none.
std::string isolated_cpus();
/// Returns the kernel's name and release.
std::string kernel_release();

/// What a result depends on besides the profile: time and host, CPU, usable cores, kernel, memory,
/// free hugepages, clock source; as names and texts. Unknown ones are left out.
std::vector<std::pair<std::string, std::string>> machine_lines();

/// A port as it was named: for a Linux interface its driver, speed and MTU, for a PCI address its
/// driver; otherwise the name.
std::string port_fact(const std::string& port);

}  // namespace lw::app
