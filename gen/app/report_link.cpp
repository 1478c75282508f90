// SPDX-License-Identifier: BSD-3-Clause
#include "gen/app/report_link.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/input.h"
#include "core/output.h"
#include "core/quantity.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

constexpr Duration kConnectFor = std::chrono::seconds(5);
constexpr Duration kStep = std::chrono::milliseconds(20);
constexpr Duration kIdle = std::chrono::seconds(10);
constexpr std::string_view kUnix = "unix:", kTcp = "tcp:";

bool is_socket(std::string_view place) {
  return place.starts_with(kUnix) || place.starts_with(kTcp);
}

std::unexpected<Error> at_place(const std::string& place, const Error& error) {
  return fail(fmt::format("{}: {}", place, error.message), error.exit);
}

Result<std::vector<net::SocketAddress>> tcp_addresses(const std::string& place) {
  const auto parts = net::split_address(place.substr(kTcp.size()));
  if (!parts || !parts->port) return fail("expected tcp:HOST:PORT, such as tcp:192.0.2.1:7000");
  auto found = net::SocketAddress::resolve(parts->host, *parts->port);
  if (!found) return fail("expected tcp:HOST:PORT: " + found.error().message);
  return found;
}

/// Returns the addresses that a place names, at least one.
Result<std::vector<net::SocketAddress>> addresses_of(const std::string& place) {
  if (place.starts_with(kTcp)) return tcp_addresses(place);
  const auto address = net::SocketAddress::unix_path(place.substr(kUnix.size()));
  if (!address) return std::unexpected(address.error());
  return std::vector{*address};
}

Result<net::Socket> connect_to_receiver(const std::string& place) {
  const auto addresses = addresses_of(place);
  if (!addresses) return at_place(place, addresses.error());
  for (const Instant end = nic::now() + kConnectFor;; std::this_thread::sleep_for(kStep)) {
    auto socket = net::connect_to(*addresses, std::max(end - nic::now(), kStep));
    if (socket) return std::move(*socket);
    if (nic::now() >= end)
      return fail(
          fmt::format("{}: no receiver takes the report: {}", place, std::strerror(socket.error())),
          ExitCode::environment);
  }
}

}  // namespace

std::string report_file(const std::string& place) { return is_socket(place) ? "" : place; }

Result<void> deliver_report(const std::string& place, std::string_view report) {
  if (!is_socket(place)) return write_file(place, report);  // a receiver never sees a part
  auto socket = connect_to_receiver(place);
  if (!socket) return std::unexpected(socket.error());
  if (auto sent = net::LineConnection(std::move(*socket), 0).send(report); !sent)
    return fail(fmt::format("{}: the receiver did not take the whole report: {}", place,
                            sent.error().message),
                ExitCode::environment);
  return {};
}

Result<ReportInbox> ReportInbox::open(const std::string& place, Accepted accepted) {
  ReportInbox inbox(place, std::move(accepted));
  if (!is_socket(place)) return inbox;
  const auto addresses = addresses_of(place);
  if (!addresses) return at_place(place, addresses.error());
  auto socket = net::ListeningSocket::open(addresses->front());
  if (!socket) return at_place(place, socket.error());
  inbox.listener_.emplace(
      std::move(*socket),
      net::LineListener::Limits{.line = inbox.longest(), .waiting = kMostSenders, .idle = kIdle});
  return inbox;
}

Result<std::string> ReportInbox::wait_for_report(Duration timeout, const std::atomic<bool>& stop) {
  const Instant end = nic::now() + timeout;
  do {
    if (listener_) {
      if (auto report = receive(kStep)) return std::move(*report);
      continue;
    }
    auto text = read_report_file();
    // A report is one line: a file without its end is still being written.
    if (!text || text->ends_with('\n')) return text;
    std::this_thread::sleep_for(kStep);
  } while (nic::now() < end && !stop);
  return fail(fmt::format("{}: no sender's report came within {}; the sender needs --report-to{}",
                          place_, format_set_duration(timeout), refused_),
              ExitCode::environment);
}

/// Returns the text of the file; empty if it does not exist yet.
Result<std::string> ReportInbox::read_report_file() const {
  auto text = read_input_file(place_, longest());
  if (text || text.error().exit == ExitCode::usage) return text;
  return "";
}

/// Waits for a report of an accepted host.
std::optional<std::string> ReportInbox::receive(Duration timeout) {
  auto arrival = listener_->poll(timeout);
  if (!arrival) return std::nullopt;
  const auto peer = wire::ip_of(wire::Ipv6Address{arrival->connection.peer().host()});
  const auto& hosts = accepted_.hosts;
  if (!hosts.empty() && std::ranges::find(hosts, peer) == hosts.end()) {
    refused_ = fmt::format("; refused that of {0}: add --sent-from {0}", wire::to_string(peer));
  } else if (!arrival->line) {
    refused_ = fmt::format("; refused that of {}: {}", wire::to_string(peer),
                           arrival->line.error().message);
  } else {
    return std::move(*arrival->line);
  }
  return std::nullopt;
}

}  // namespace lw::gen
