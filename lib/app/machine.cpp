// SPDX-License-Identifier: BSD-3-Clause
#include "app/machine.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string_view>
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"

namespace lw::app {
namespace {

namespace fs = std::filesystem;

/// The value of a key in /proc/cpuinfo or /proc/meminfo; empty if there is none.
std::string value_in(std::istream& file, std::string_view key) {
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  return value_in(file, "model name");
}

std::string memory() {
  std::ifstream file("/proc/meminfo");
  const std::string kib = value_in(file, "MemTotal");  // "16316412 kB", in KiB
  return kib.empty() ? kib : format_bytes(std::stod(kib) * 1024);
}

std::string cores() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  const std::string isolated = isolated_cpus();
  return fmt::format("{} usable of {}, isolated: {}", CPU_COUNT(&usable),
                     sysconf(_SC_NPROCESSORS_ONLN), isolated.empty() ? "none" : isolated);
}

}  // namespace

std::string sys_line(const std::string& path) {
  std::ifstream file("/sys/" + path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string sys_link(const std::string& path) {
  std::error_code unknown;
  return fs::read_symlink("/sys/" + path, unknown).filename().string();
}

std::string free_hugepages() {
  std::vector<std::string> sizes;
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator("/sys/kernel/mm/hugepages", unknown)) {
    const std::string name = entry.path().filename().string();
    const std::string free = sys_line("kernel/mm/hugepages/" + name + "/free_hugepages");
    if (!free.empty() && free != "0")
      sizes.push_back(fmt::format("{} free pages of {}", free, name.substr(name.find('-') + 1)));
  }
  std::ranges::sort(sizes);
  return fmt::format("{}", fmt::join(sizes, ", "));
}

std::string clock_source() {
  return sys_line("devices/system/clocksource/clocksource0/current_clocksource");
}

std::string isolated_cpus() { return sys_line("devices/system/cpu/isolated"); }

std::string kernel_release() {
  utsname kernel = {};
  uname(&kernel);
  return fmt::format("{} {}", kernel.sysname, kernel.release);
}

std::vector<std::pair<std::string, std::string>> machine_lines() {
  utsname kernel = {};
  uname(&kernel);
  const std::string hugepages = free_hugepages();
  const std::pair<const char*, std::string> lines[] = {
      {"Time", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))},
      {"Host", kernel.nodename},
      {"CPU", cpu_name()},
      {"Cores", cores()},
      {"Memory", memory()},
      {"Hugepages", hugepages.empty() ? "none free" : hugepages},
      {"Kernel", fmt::format("{} {}", kernel_release(), kernel.machine)},
      {"Clock source", clock_source()}};
  std::vector<std::pair<std::string, std::string>> known;
  for (const auto& [name, text] : lines)
    if (!text.empty()) known.emplace_back(name, text);
  return known;
}

std::string port_fact(const std::string& port) {
  std::string name = port.substr(0, port.find(','));
  for (const std::string_view prefix : {"af_packet:", "af_xdp:"})
    if (name.starts_with(prefix)) name = name.substr(prefix.size());
  if (name.find('/') != std::string::npos || name.empty()) return port;
  const std::string mtu = sys_line("class/net/" + name + "/mtu");
  if (!mtu.empty()) {
    const std::string driver = sys_link("class/net/" + name + "/device/driver");
    const std::string speed = sys_line("class/net/" + name + "/speed");
    std::string text = fmt::format("{}: {}, MTU {}", port,
                                   driver.empty() ? "virtual interface" : "driver " + driver, mtu);
    if (!speed.empty() && speed.front() != '-') text += fmt::format(", {} Mb/s", speed);
    return text;
  }
  const std::string driver = sys_link("bus/pci/devices/" + name + "/driver");
  return driver.empty() ? port : fmt::format("{}: driver {}", port, driver);
}

}  // namespace lw::app
