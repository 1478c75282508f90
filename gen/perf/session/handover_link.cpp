// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/handover_link.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/token.h"

namespace lw::gen::handover {
namespace {

using Clock = std::chrono::steady_clock;

wire::IpAddress ip_of_socket(const net::SocketAddress& address) noexcept {
  return wire::ip_of(wire::Ipv6Address{address.host()});
}

}  // namespace

std::string host_of(std::string_view where) {
  const auto parts = net::split_address(where);
  return parts ? parts->host : "";
}

Result<Link> connect_to(std::string_view where, Duration timeout) {
  const auto parts = net::split_address(where);
  const std::uint16_t port = parts ? parts->port.value_or(kPort) : 0;
  if (!parts || parts->host.empty() || port == 0)
    return fail(
        fmt::format("expected HOST, HOST:PORT or [IPV6]:PORT with a port from 1 to 65535, "
                    "found \"{}\"",
                    where));
  const auto addresses = net::SocketAddress::resolve(parts->host, port);
  if (!addresses) return std::unexpected(addresses.error());
  auto socket = net::connect_to(*addresses, timeout);
  if (!socket)
    return fail(fmt::format("{} port {}: {}; is `roce-endpoint serve` running there?", parts->host,
                            port, std::strerror(socket.error())),
                ExitCode::environment);
  return Link(std::move(*socket), kMostBytes);
}

Result<Client> Client::connect(std::string_view where, Duration timeout) {
  auto link = connect_to(where, timeout);
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
  if (auto done = read_done(**line)) {
    done_ = std::move(*done);
    return {};
  }
  const auto report = read_report(**line);
  if (!report) return std::unexpected(report.error());
  return fail(fmt::format("the server ended the session: {}", report->failure), ExitCode::failed);
}

Result<std::optional<Done>> Client::take_done() {
  if (!done_)
    if (auto checked = check(); !checked) return std::unexpected(checked.error());
  return std::exchange(done_, std::nullopt);
}

Result<Report> Client::finish(const Done& done, Duration timeout, const std::atomic<bool>& stop,
                              const Meanwhile& meanwhile) {
  if (auto sent = link_.send(line_of(done)); !sent) return std::unexpected(sent.error());
  const auto line = link_.receive(timeout, stop, meanwhile);
  if (!line) return std::unexpected(line.error());
  return read_report(*line);
}

wire::IpAddress Client::local() const noexcept { return ip_of_socket(link_.local()); }

ClientListener::ClientListener(net::ListeningSocket socket, Admission admission)
    : admission_(std::move(admission)),
      listener_(
          std::move(socket),
          {.line = kMostBytes, .waiting = admission_.most_waiting, .idle = admission_.timeout}) {}

Result<ClientListener> ClientListener::listen(Admission admission) {
  const auto address =
      net::SocketAddress::numeric(net::address_text(admission.address, admission.port));
  if (!address)
    return fail(fmt::format("expected an address to listen at, found \"{}\"", admission.address));
  auto socket = net::ListeningSocket::open(*address);
  if (!socket) return std::unexpected(socket.error());
  return ClientListener(std::move(*socket), std::move(admission));
}

std::optional<Admitted> ClientListener::poll(Duration timeout, std::string_view busy) {
  const auto until = Clock::now() + timeout;
  // No more than wait at a time: clients that keep coming can't hold the caller.
  for (std::size_t i = 0; i < admission_.most_waiting; ++i) {
    auto arrival = listener_.poll(std::max<Duration>(until - Clock::now(), Duration{}));
    if (!arrival) break;
    const wire::IpAddress peer = ip_of_socket(arrival->connection.peer());
    const wire::IpAddress local = ip_of_socket(arrival->connection.local());
    auto hello = admit(arrival->line, peer, busy);
    if (hello) return Admitted{std::move(arrival->connection), peer, local, std::move(*hello)};
    const std::string& reason = hello.error().message;
    listener_.dismiss(std::move(arrival->connection), refusal_line(reason));
    constexpr std::size_t kMostKept = 100;
    if (refusals_.size() == kMostKept) refusals_.erase(refusals_.begin());
    refusals_.push_back(fmt::format("{}: {}", wire::to_string(peer), reason));
  }
  return std::nullopt;
}

Result<Hello> ClientListener::admit(const Result<std::string>& line, const wire::IpAddress& peer,
                                    std::string_view busy) const {
  const auto& accepted = admission_.accepted;
  if (!accepted.empty() && std::ranges::find(accepted, peer) == accepted.end())
    return fail(fmt::format("{0} is not an accepted address: add --accept {0} on the server",
                            wire::to_string(peer)));
  if (!line) return std::unexpected(line.error());
  auto hello = read_hello(*line);
  if (!hello) return hello;
  if (!same_token(admission_.token, hello->token))
    return fail("wrong token: pass the one that the server printed with --token");
  if (!busy.empty()) return fail(std::string(busy));
  return hello;
}

std::vector<std::string> ClientListener::take_refusals() { return std::exchange(refusals_, {}); }

}  // namespace lw::gen::handover
