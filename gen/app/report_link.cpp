// SPDX-License-Identifier: BSD-3-Clause
#include "gen/app/report_link.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/output.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

constexpr Duration kConnectFor = std::chrono::seconds(5);
constexpr Duration kPoll = std::chrono::milliseconds(20);
constexpr std::string_view kUnix = "unix:", kTcp = "tcp:";

/// Closes a descriptor at the end of a scope.
struct Descriptor {
  explicit Descriptor(int number) : value(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
  [[nodiscard]] int release() { return std::exchange(value, -1); }
  int value;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

bool is_socket(std::string_view place) {
  return place.starts_with(kUnix) || place.starts_with(kTcp);
}

Result<SocketAddress> unix_address(const std::string& place) {
  const std::string path = place.substr(kUnix.size());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return fail(fmt::format("{}: expected unix:PATH with a path of 1 to {} bytes", place,
                            sizeof(address.sun_path) - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  SocketAddress result;
  std::memcpy(&result.storage, &address, sizeof(address));
  result.length = sizeof(address);
  return result;
}

Result<SocketAddress> tcp_address(const std::string& place) {
  const std::string rest = place.substr(kTcp.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos)
    return fail(fmt::format("{}: expected tcp:HOST:PORT, such as tcp:192.0.2.1:7000", place));
  std::string host = rest.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                               rest.substr(colon + 1).c_str(), &hints, &found);
  if (code != 0)
    return fail(fmt::format("{}: expected tcp:HOST:PORT: {}", place, gai_strerror(code)));
  SocketAddress result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.length = found->ai_addrlen;
  freeaddrinfo(found);
  return result;
}

Result<SocketAddress> socket_address_of(const std::string& place) {
  return place.starts_with(kUnix) ? unix_address(place) : tcp_address(place);
}

std::unexpected<Error> refuse_place(const std::string& place, std::string_view step) {
  return fail(fmt::format("{}: {}: {}", place, step, std::strerror(errno)), ExitCode::environment);
}

Result<int> connect_to(const std::string& place) {
  const auto address = socket_address_of(place);
  if (!address) return std::unexpected(address.error());
  for (const Instant end = nic::now() + kConnectFor;; std::this_thread::sleep_for(kPoll)) {
    Descriptor link(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (link.value < 0) return refuse_place(place, "no socket");
    if (::connect(link.value, address->get(), address->length) == 0) return link.release();
    if (nic::now() >= end) return refuse_place(place, "no receiver takes the report");
  }
}

Result<void> send_all(int link, const std::string& place, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(link, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return refuse_place(place, "the receiver did not take the whole report");
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

bool readable(int descriptor, const std::atomic<bool>* stop, Instant end) {
  while (true) {
    pollfd wait{descriptor, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(kPoll.count() / 1'000'000)) > 0) return true;
    if (nic::now() >= end || (stop != nullptr && stop->load())) return false;
  }
}

/// Returns the whole text of one sender; empty if none arrives in time.
std::string accept_text(int socket, const std::atomic<bool>* stop, Instant end) {
  if (!readable(socket, stop, end)) return {};
  const Descriptor link(::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC));
  std::string text;
  char part[4096];
  while (link.value >= 0 && readable(link.value, stop, end)) {
    const ssize_t got = ::read(link.value, part, sizeof(part));
    if (got <= 0) break;
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

std::string file_text(const std::string& path) {
  note_input(path);
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string report_file(const std::string& place) { return is_socket(place) ? "" : place; }

Result<void> deliver_report(const std::string& place, std::string_view report) {
  if (is_socket(place)) {
    const auto link = connect_to(place);
    if (!link) return std::unexpected(link.error());
    const Descriptor owned(*link);
    return send_all(owned.value, place, report);
  }
  return write_file(place, report);  // atomic: a waiting receiver never sees a part
}

Result<ReportInbox> ReportInbox::open(const std::string& place) {
  if (!is_socket(place)) return ReportInbox(place, -1, {});
  const auto address = socket_address_of(place);
  if (!address) return std::unexpected(address.error());
  const int family = address->storage.ss_family;
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (family != AF_UNIX) setsockopt(socket.value, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (socket.value < 0 || ::bind(socket.value, address->get(), address->length) != 0 ||
      ::listen(socket.value, 1) != 0) {
    return refuse_place(place, "can't be listened to");
  }
  return ReportInbox(place, socket.release(),
                     family == AF_UNIX ? place.substr(kUnix.size()) : std::string{});
}

ReportInbox::ReportInbox(ReportInbox&& other) noexcept
    : place_(std::move(other.place_)),
      socket_(std::exchange(other.socket_, -1)),
      path_(std::exchange(other.path_, {})) {}

ReportInbox::~ReportInbox() {
  if (socket_ >= 0) ::close(socket_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<std::string> ReportInbox::take(Duration timeout, const std::atomic<bool>* stop) {
  const Instant end = nic::now() + timeout;
  while (true) {
    std::string text = socket_ >= 0 ? accept_text(socket_, stop, end) : file_text(place_);
    // A report is one line: a file without its end is still being written.
    if (text.ends_with('\n')) return text;
    if (nic::now() >= end || (stop != nullptr && stop->load())) break;
    std::this_thread::sleep_for(kPoll);
  }
  return fail(fmt::format("{}: no sender's report came within {} s; the sender needs --report-to",
                          place_, timeout.count() / 1'000'000'000),
              ExitCode::environment);
}

}  // namespace lw::gen
