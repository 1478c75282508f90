// SPDX-License-Identifier: BSD-3-Clause
#include "nic/interface.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sstream>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace lw::nic {
namespace {

ifreq request_for(const std::string& name) noexcept {
  ifreq request{};
  const std::size_t length = std::min<std::size_t>(name.size(), IFNAMSIZ - 1);
  std::copy_n(name.begin(), length, request.ifr_name);
  return request;
}

/// Makes an ioctl(). Returns false if it failed. The socket is opened once for the process: a
/// process whose descriptors are used up can still ask, and no interface seems to be gone.
bool ask(unsigned long what, ifreq& request) noexcept {
  static const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  return ioctl(any, what, &request) == 0;
}

}  // namespace

unsigned NetworkInterface::index() const noexcept {
  if (name_.size() >= IFNAMSIZ) return 0;
  ifreq request = request_for(name_);
  return ask(SIOCGIFINDEX, request) ? static_cast<unsigned>(request.ifr_ifindex) : 0;
}

bool NetworkInterface::is_up() const noexcept {
  ifreq request = request_for(name_);
  return ask(SIOCGIFFLAGS, request) && (request.ifr_flags & IFF_UP) != 0;
}

bool NetworkInterface::is_running() const noexcept {
  ifreq request = request_for(name_);
  constexpr int kBoth = IFF_UP | IFF_RUNNING;
  return ask(SIOCGIFFLAGS, request) && (request.ifr_flags & kBoth) == kBoth;
}

bool NetworkInterface::is_lasting() const noexcept {
  ethtool_value value{.cmd = ETHTOOL_GLINK, .data = 0};
  ifreq request = request_for(name_);
  request.ifr_data = reinterpret_cast<char*>(&value);
  return ask(SIOCETHTOOL, request) || errno != ENODEV;
}

bool NetworkInterface::set_up(bool up) const noexcept {
  ifreq request = request_for(name_);
  if (!ask(SIOCGIFFLAGS, request)) return false;
  const int flags = request.ifr_flags;
  request.ifr_flags = static_cast<short>(up ? flags | IFF_UP : flags & ~IFF_UP);
  return ask(SIOCSIFFLAGS, request);
}

std::optional<std::uint32_t> NetworkInterface::mtu() const noexcept {
  ifreq request = request_for(name_);
  if (!ask(SIOCGIFMTU, request) || request.ifr_mtu < 0) return std::nullopt;
  return static_cast<std::uint32_t>(request.ifr_mtu);
}

std::optional<std::array<std::byte, 6>> NetworkInterface::mac_address() const noexcept {
  ifreq request = request_for(name_);
  if (!ask(SIOCGIFHWADDR, request)) return std::nullopt;
  const auto family = request.ifr_hwaddr.sa_family;
  if (family != ARPHRD_ETHER && family != ARPHRD_LOOPBACK) return std::nullopt;
  std::array<std::byte, 6> address{};
  std::memcpy(address.data(), request.ifr_hwaddr.sa_data, address.size());
  return address;
}

std::optional<double> NetworkInterface::bps() const {
  constexpr double kMega = 1e6;
  std::ifstream file("/sys/class/net/" + name_ + "/speed");
  std::int64_t megabits = 0;  // -1: unknown
  if (!(file >> megabits) || megabits <= 0) return std::nullopt;
  return static_cast<double>(megabits) * kMega;
}

std::optional<InterfaceLosses> NetworkInterface::losses() const {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return std::nullopt;
  std::optional<InterfaceLosses> found;
  for (const ifaddrs* entry = list; entry && !found; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_PACKET ||
        entry->ifa_data == nullptr || entry->ifa_name != name_)
      continue;
    const auto& stats = *static_cast<const rtnl_link_stats*>(entry->ifa_data);
    found = {stats.rx_missed_errors, stats.rx_errors, stats.tx_dropped, stats.tx_errors,
             stats.rx_dropped};
  }
  freeifaddrs(list);
  return found;
}

std::uint64_t backlog_drops() {
  std::ifstream file("/proc/net/softnet_stat");
  return backlog_drops_of(file);
}

std::uint64_t backlog_drops_of(std::istream& text) {
  std::uint64_t drops = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream columns(line);
    std::uint64_t processed = 0, dropped = 0;
    if (columns >> std::hex >> processed >> dropped) drops += dropped;
  }
  return drops;
}

}  // namespace lw::nic
