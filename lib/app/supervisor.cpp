// SPDX-License-Identifier: BSD-3-Clause
#include "app/supervisor.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace lw {

void notify_supervisor(std::string_view state) noexcept {
  const char* name = std::getenv("NOTIFY_SOCKET");
  const std::size_t length = name == nullptr ? 0 : std::strlen(name);
  sockaddr_un address = {};
  if (length == 0 || length >= sizeof address.sun_path || (name[0] != '/' && name[0] != '@'))
    return;
  address.sun_family = AF_UNIX;
  std::copy_n(name, length, address.sun_path);
  if (name[0] == '@') address.sun_path[0] = '\0';  // an abstract socket
  const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (sender < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  static_cast<void>(sendto(sender, state.data(), state.size(), MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(&address), size));
  close(sender);
}

void notify_reloading() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  notify_supervisor(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", us));
}

}  // namespace lw
