// SPDX-License-Identifier: BSD-3-Clause
#include "nic/interface.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sstream>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

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

/// Sets or clears a flag (IFF_UP). Returns false if the kernel refuses it.
bool set_flag(ifreq request, int flag, bool value) noexcept {
  if (!ask(SIOCGIFFLAGS, request)) return false;
  const int flags = request.ifr_flags;
  request.ifr_flags = static_cast<short>(value ? flags | flag : flags & ~flag);
  return ask(SIOCSIFFLAGS, request);
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
  return set_flag(request_for(name_), IFF_UP, up);
}

bool NetworkInterface::is_set_promiscuous() const noexcept {
  ifreq request = request_for(name_);
  return ask(SIOCGIFFLAGS, request) && (request.ifr_flags & IFF_PROMISC) != 0;
}

bool NetworkInterface::set_promiscuous(bool all) const noexcept {
  return set_flag(request_for(name_), IFF_PROMISC, all);
}

bool NetworkInterface::set_mtu(std::uint32_t mtu) const noexcept {
  ifreq request = request_for(name_);
  request.ifr_mtu = static_cast<int>(mtu);
  return ask(SIOCSIFMTU, request);
}

void set_interface_up(const char* name) noexcept {
  ifreq request{};
  for (std::size_t i = 0; i + 1 < IFNAMSIZ && name[i] != 0; ++i) request.ifr_name[i] = name[i];
  set_flag(request, IFF_UP, true);
}

AllFrames::AllFrames(unsigned interface) noexcept
    : socket_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
  packet_mreq wanted{};
  wanted.mr_ifindex = static_cast<int>(interface);
  wanted.mr_type = PACKET_MR_PROMISC;
  setsockopt(socket_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &wanted, sizeof wanted);
}

AllFrames::~AllFrames() {
  if (socket_ >= 0) close(socket_);
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
