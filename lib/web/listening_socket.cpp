// SPDX-License-Identifier: BSD-3-Clause
#include "web/listening_socket.h"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace lw::web {
namespace {

constexpr int kBacklog = SOMAXCONN;
// Of each connection. Requests are short: what a client sends beyond is held by the client.
constexpr int kReceiveBuffer = 1 << 14;

std::unexpected<Error> refuse(const std::string& what, const std::string& step) {
  return fail(fmt::format("{}: {}: {}", what, step, std::strerror(errno)), ExitCode::environment);
}

/// A socket's file stays behind when a process is killed; one that nobody listens at is in the way.
void remove_stale(const sockaddr_un& address) {
  struct stat info{};
  if (lstat(address.sun_path, &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const bool alive = connect(probe, generic, sizeof address) == 0 || errno != ECONNREFUSED;
  close(probe);
  if (!alive) unlink(address.sun_path);
}

/// "HOST:PORT", "[HOST]:PORT".
std::pair<std::string, std::string> host_and_port(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

/// The resolver takes any number, and wraps it.
bool is_port(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(fmt::format("socket `{}`: expected a path of 1..{} bytes, found {}", path,
                            sizeof address.sun_path - 1, path.size()));
  path.copy(address.sun_path, path.size());
  return address;
}

Result<ListeningSocket> ListeningSocket::unix_socket(const std::string& path) {
  const auto address = unix_address(path);
  if (!address) return std::unexpected(address.error());
  remove_stale(*address);
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return refuse(path, "no socket");
  // The file takes its permissions from the descriptor's: owner only from the first moment.
  fchmod(descriptor, S_IRUSR | S_IWUSR);
  const auto* generic = reinterpret_cast<const sockaddr*>(&*address);
  if (bind(descriptor, generic, sizeof *address) != 0) {
    auto error = refuse(path, "can't be made a socket");
    close(descriptor);
    return error;
  }
  ListeningSocket listening(descriptor, path);
  if (chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) return refuse(path, "can't be made private");
  if (listen(descriptor, kBacklog) != 0) return refuse(path, "can't be listened at");
  return listening;
}

Result<ListeningSocket> ListeningSocket::tcp(const std::string& address) {
  const auto [host, port] = host_and_port(address);
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (host.empty() || !is_port(port) ||
      getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0)
    return fail(
        fmt::format("expected ADDRESS:PORT in numbers, \"127.0.0.1:9091\", found \"{}\"", address));
  const int descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  const bool good = descriptor >= 0 && bind(descriptor, found->ai_addr, found->ai_addrlen) == 0 &&
                    listen(descriptor, kBacklog) == 0;
  freeaddrinfo(found);
  ListeningSocket listening(descriptor, "");
  if (!good && errno == EADDRINUSE)
    return fail(fmt::format("{}: another program listens there: `ss -ltnp 'sport = :{}'` names it",
                            address, port),
                ExitCode::environment);
  if (!good) return refuse(address, "can't be listened at");
  return listening;
}

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

ListeningSocket::~ListeningSocket() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!path_.empty()) unlink(path_.c_str());
}

std::uint16_t ListeningSocket::port() const noexcept {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // The port stands at the same place in both families' addresses.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace lw::web
