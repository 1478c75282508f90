// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/handover_link.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/token.h"

namespace lw::gen::handover {
namespace {

constexpr Duration kPollStep = std::chrono::milliseconds(50);
constexpr Duration kMeanwhileStep = std::chrono::milliseconds(1);
constexpr Duration kSendFor = std::chrono::seconds(5);
constexpr Duration kReadRefusalFor = std::chrono::seconds(2);

Instant clock_now() noexcept {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

int milliseconds(Duration duration) noexcept {
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<std::int64_t>(whole, 0, 1'000'000));
}

bool wait_for(int socket, short events, Duration timeout) noexcept {
  pollfd one{socket, events, 0};
  return ::poll(&one, 1, milliseconds(timeout)) > 0;
}

/// Sets timeouts: a silent peer is detected after 5 + 3 x 3 s, a peer that reads nothing after 15
/// s.
void set_options(int socket) noexcept {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15'000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

wire::IpAddress socket_ip(const sockaddr_storage& storage) noexcept {
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof v6);
    wire::Ipv6Address address;
    std::memcpy(address.bytes.data(), &v6.sin6_addr, address.bytes.size());
    return wire::ip_of(address);
  }
  sockaddr_in v4{};
  std::memcpy(&v4, &storage, sizeof v4);
  wire::Ipv4Address address;
  std::memcpy(address.bytes.data(), &v4.sin_addr, address.bytes.size());
  return address;
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

wire::IpAddress address_by(NameOf name_of_end, int socket) noexcept {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  name_of_end(socket, reinterpret_cast<sockaddr*>(&storage), &size);
  return socket_ip(storage);
}

struct AddressList {
  addrinfo* first = nullptr;
  AddressList() = default;
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  ~AddressList() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

/// Splits "HOST", "HOST:PORT", "[IPV6]:PORT", or an IPv6 address.
std::pair<std::string, std::string> host_and_service(std::string_view where) {
  const std::string usual = std::to_string(kPort);
  if (where.starts_with('[')) {
    const std::size_t end = where.find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view rest = where.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return {};
    return {std::string(where.substr(1, end - 1)),
            rest.empty() ? usual : std::string(rest.substr(1))};
  }
  const std::size_t colon = where.find(':');
  if (colon == std::string_view::npos || colon != where.rfind(':'))
    return {std::string(where), usual};
  return {std::string(where.substr(0, colon)), std::string(where.substr(colon + 1))};
}

bool is_port(const std::string& text) noexcept {
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
         std::stoul(text) >= 1 && std::stoul(text) <= 65535;
}

/// Returns 0, or an errno.
int connect_within(int socket, const addrinfo& to, Duration timeout) noexcept {
  if (::connect(socket, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(socket, POLLOUT, timeout)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

std::unexpected<Error> gone(std::string_view how) {
  return fail(fmt::format("the other side of the TCP connection {}", how), ExitCode::failed);
}

/// Returns the error for a failed read or write.
std::unexpected<Error> lost(int error) {
  if (error == ETIMEDOUT) return gone("is gone without a word");
  if (error == ECONNRESET || error == EPIPE) return gone("has closed it");
  return gone(fmt::format("can't be reached: {}", std::strerror(error)));
}

}  // namespace

std::string host_of(std::string_view where) { return host_and_service(where).first; }

Link::Link(int socket) : socket_(socket) { set_options(socket_); }
Link::Link(Link&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), received_(std::move(other.received_)) {}
Link& Link::operator=(Link&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(received_, other.received_);
  return *this;
}
Link::~Link() {
  if (socket_ >= 0) ::close(socket_);
}

Result<Link> Link::connect(std::string_view where, Duration timeout) {
  const auto [host, service] = host_and_service(where);
  if (host.empty() || !is_port(service))
    return fail(
        fmt::format("expected HOST, HOST:PORT or [IPV6]:PORT with a port from 1 to 65535, "
                    "found \"{}\"",
                    where));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  AddressList list;
  if (const int code = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &list.first); code != 0)
    return fail(fmt::format("{}: {}", host, ::gai_strerror(code)), ExitCode::environment);
  int error = ECONNREFUSED;
  for (const addrinfo* to = list.first; to != nullptr; to = to->ai_next) {
    const int socket = ::socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) continue;
    Link link(socket);
    error = connect_within(socket, *to, timeout);
    if (error == 0) return link;
  }
  return fail(fmt::format("{} port {}: {}; is `roce-endpoint serve` running there?", host, service,
                          std::strerror(error)),
              ExitCode::environment);
}

Result<void> Link::send(std::string_view line) {
  const Instant until = clock_now() + kSendFor;
  while (!line.empty()) {
    const ssize_t sent = ::send(socket_, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      line.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR) {
      if (clock_now() >= until) return gone("takes no data");
      wait_for(socket_, POLLOUT, kPollStep);
    } else {
      return lost(errno);
    }
  }
  return {};
}

Result<std::optional<std::string>> Link::poll() {
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (overlong())
      return fail(fmt::format("expected a line of at most {} bytes, found more", kMostBytes),
                  ExitCode::failed);
    std::array<char, 4096> piece;
    const ssize_t size = ::recv(socket_, piece.data(), piece.size(), 0);
    if (size > 0) {
      received_.append(piece.data(), static_cast<std::size_t>(size));
    } else if (size == 0) {
      return gone("has closed it");
    } else if (errno == EAGAIN) {
      return std::nullopt;
    } else if (errno != EINTR) {
      return lost(errno);
    }
  }
}

Result<std::string> Link::receive(Duration timeout, const std::atomic<bool>& stop,
                                  const Meanwhile& meanwhile) {
  const Duration step = meanwhile ? kMeanwhileStep : kPollStep;
  const Instant until = clock_now() + timeout;
  while (true) {
    auto line = poll();
    if (!line) return std::unexpected(line.error());
    if (*line) return std::move(**line);
    if (stop.load(std::memory_order_relaxed)) return fail("interrupted", ExitCode::failed);
    const Instant now = clock_now();
    if (now >= until)
      return fail(fmt::format("the other side of the TCP connection said nothing for {}",
                              format_duration(timeout)),
                  ExitCode::failed);
    if (meanwhile) meanwhile();
    wait_for(socket_, POLLIN, std::min(step, until - now));
  }
}

wire::IpAddress Link::local() const noexcept { return address_by(::getsockname, socket_); }
wire::IpAddress Link::peer() const noexcept { return address_by(::getpeername, socket_); }

Result<Client> Client::connect(std::string_view where, Duration timeout) {
  auto link = Link::connect(where, timeout);
  if (!link) return std::unexpected(link.error());
  return Client(std::move(*link));
}

Result<Offer> Client::open(const Hello& hello, Duration timeout, const std::atomic<bool>& stop,
                           const Meanwhile& meanwhile) {
  if (auto sent = link_.send(line_of(hello)); !sent) return std::unexpected(sent.error());
  const auto line = link_.receive(timeout, stop, meanwhile);
  if (!line) return std::unexpected(line.error());
  auto offer = read_offer(*line);
  if (offer && offer->qps.size() != hello.qps.size())
    return fail(fmt::format("the other side's offer: expected {} QPs, found {}", hello.qps.size(),
                            offer->qps.size()),
                ExitCode::failed);
  return offer;
}

Result<void> Client::check() {
  const auto line = link_.poll();
  if (!line) return std::unexpected(line.error());
  if (!*line) return {};
  const auto report = read_report(**line);
  if (!report) return std::unexpected(report.error());
  return fail(fmt::format("the server ended the session: {}", report->failure), ExitCode::failed);
}

Result<Report> Client::finish(const Done& done, Duration timeout, const std::atomic<bool>& stop,
                              const Meanwhile& meanwhile) {
  if (auto sent = link_.send(line_of(done)); !sent) return std::unexpected(sent.error());
  const auto line = link_.receive(timeout, stop, meanwhile);
  if (!line) return std::unexpected(line.error());
  return read_report(*line);
}

Result<ClientListener> ClientListener::listen(Admission admission) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  AddressList list;
  const std::string service = std::to_string(admission.port);
  if (::getaddrinfo(admission.address.c_str(), service.c_str(), &hints, &list.first) != 0)
    return fail(fmt::format("expected an address to listen at, found \"{}\"", admission.address));
  const addrinfo& at = *list.first;
  ClientListener listener(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                          std::move(admission));
  const int yes = 1, no = 0;
  ::setsockopt(listener.socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::setsockopt(listener.socket_, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(listener.socket_, at.ai_addr, at.ai_addrlen) != 0 ||
      ::listen(listener.socket_, SOMAXCONN) != 0)
    return fail(fmt::format("{} port {} can't be listened at: {}", listener.admission_.address,
                            service, std::strerror(errno)),
                ExitCode::environment);
  return listener;
}

ClientListener::ClientListener(ClientListener&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      admission_(std::move(other.admission_)),
      waiting_(std::move(other.waiting_)),
      refusals_(std::move(other.refusals_)) {}

ClientListener::~ClientListener() {
  if (socket_ >= 0) ::close(socket_);
}

std::optional<Admitted> ClientListener::poll(Duration timeout, std::string_view busy) {
  const Instant until = clock_now() + timeout;
  std::optional<Admitted> admitted;
  while (true) {
    accept_all();
    for (auto one = waiting_.begin(); one != waiting_.end() && !admitted;)
      one = look_at(*one, busy, admitted) ? std::next(one) : waiting_.erase(one);
    const Instant now = clock_now();
    if (admitted || now >= until) return admitted;
    wait(std::min(until - now, kPollStep));
  }
}

void ClientListener::accept_all() {
  for (std::size_t i = 0; i < admission_.most_waiting; ++i) {
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    Link link(socket);
    const wire::IpAddress peer = link.peer();
    Waiting& one = waiting_.emplace_back(std::move(link), peer, clock_now() + admission_.timeout);
    const auto& accepted = admission_.accepted;
    if (!accepted.empty() && std::ranges::find(accepted, peer) == accepted.end())
      refuse(one, fmt::format("{} is not an accepted address: add --accept {} on the server",
                              wire::to_string(peer), wire::to_string(peer)));
    drop_surplus();
  }
}

void ClientListener::drop_surplus() {
  if (waiting_.size() <= admission_.most_waiting) return;
  std::map<wire::IpAddress, std::size_t> counts;
  for (const Waiting& one : waiting_) ++counts[one.peer];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
  waiting_.erase(std::ranges::find(waiting_, most->first, &Waiting::peer));
}

void ClientListener::wait(Duration timeout) const {
  std::vector<pollfd> all{{socket_, POLLIN, 0}};
  for (const Waiting& one : waiting_) all.push_back({one.link.descriptor(), POLLIN, 0});
  ::poll(all.data(), all.size(), milliseconds(timeout));
}

bool ClientListener::look_at(Waiting& one, std::string_view busy,
                             std::optional<Admitted>& admitted) {
  const bool late = clock_now() >= one.until;
  auto line = one.link.poll();
  if (one.refused) return line && !late;  // ignore further input
  if (!line && !one.link.overlong()) return false;
  if (line && !*line) return !late;
  auto hello = line ? read_hello(**line) : std::unexpected(line.error());
  if (!hello) return refuse(one, hello.error().message), true;
  if (!same_token(admission_.token, hello->token))
    return refuse(one, "wrong token: pass the one that the server printed with --token"), true;
  if (!busy.empty()) return refuse(one, std::string(busy)), true;
  admitted = Admitted{std::move(one.link), one.peer, std::move(*hello)};
  return false;
}

void ClientListener::refuse(Waiting& one, const std::string& reason) {
  // End only the sending side: a close with unread data would reset the connection before the
  // client has read the reason.
  (void)one.link.send(refusal_line(reason));
  ::shutdown(one.link.descriptor(), SHUT_WR);
  one.refused = true;
  one.until = clock_now() + kReadRefusalFor;
  constexpr std::size_t kMostKept = 100;
  if (refusals_.size() == kMostKept) refusals_.erase(refusals_.begin());
  refusals_.push_back(fmt::format("{}: {}", wire::to_string(one.peer), reason));
}

std::vector<std::string> ClientListener::take_refusals() { return std::exchange(refusals_, {}); }

std::uint16_t ClientListener::port() const noexcept {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&storage), &size);
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    return ntohs(v4.sin_port);
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &storage, sizeof v6);
  return ntohs(v6.sin6_port);
}

}  // namespace lw::gen::handover
