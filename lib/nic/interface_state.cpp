// SPDX-License-Identifier: BSD-3-Clause
#include "nic/interface_state.h"

#include <algorithm>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lw::nic {

bool set_interface_up(const std::string& interface, bool up) noexcept {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) return false;
  ifreq request{};
  const std::size_t length = std::min<std::size_t>(interface.size(), IFNAMSIZ - 1);
  std::copy_n(interface.begin(), length, request.ifr_name);
  bool done = ioctl(any, SIOCGIFFLAGS, &request) == 0;
  if (done) {
    const int flags = request.ifr_flags;
    request.ifr_flags = static_cast<short>(up ? flags | IFF_UP : flags & ~IFF_UP);
    done = ioctl(any, SIOCSIFFLAGS, &request) == 0;
  }
  ::close(any);
  return done;
}

}  // namespace lw::nic
