// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "gen/perf/session/handover.h"
#include "net/line_listener.h"

namespace lw::gen::handover {

/// Returns the host of "HOST", "HOST:PORT" or "[IPV6]:PORT"; empty for other forms.
std::string host_of(std::string_view where);

/// The connection of two peers, for lines of at most kMostBytes. The function that a wait calls
/// answers ARP at a client with its own port, because the server resolves the client's MAC address
/// before it makes an offer.
using Link = net::LineConnection;
using net::Meanwhile;

/// Connects to "HOST", "HOST:PORT" or "[IPV6]:PORT". Errors: usage (not an address); environment
/// (an unknown host, no server at this address, no answer within `timeout`).
Result<Link> connect_to(std::string_view where, Duration timeout);

/// The client's side of a session: the connection, and the lines in their order. An error that the
/// server reports is returned as a refusal with its reason.
class Client {
 public:
  /// Errors: those of connect_to().
  static Result<Client> connect(std::string_view where, Duration timeout);

  /// Sends the hello and waits for the offer. Errors (failed): refused; no answer, or an invalid
  /// one.
  Result<Offer> open(const Hello& hello, Duration timeout, const std::atomic<bool>& stop,
                     const Meanwhile& meanwhile = {});
  /// Checks that the server is still connected; does not wait. Call it at intervals during a run.
  /// The Done of a server that sends is kept for take_done(). Errors (failed): the server is gone
  /// or ended the session, with its reason.
  Result<void> check();
  /// Returns the server's Done, once, if it has come. Errors: those of check().
  Result<std::optional<Done>> take_done();
  /// The connection, for the lines of the other direction.
  [[nodiscard]] Link& link() noexcept { return link_; }
  /// Reports that everything is sent, and waits for the server's report.
  Result<Report> finish(const Done& done, Duration timeout, const std::atomic<bool>& stop,
                        const Meanwhile& meanwhile = {});

  /// The own address on the route to the server.
  [[nodiscard]] wire::IpAddress local() const noexcept;

 private:
  explicit Client(Link link) : link_(std::move(link)) {}
  Link link_;
  std::optional<Done> done_;  // of the server
};

/// An admitted client, from its Hello on.
struct Admitted {
  Link link;
  wire::IpAddress peer, local;
  Hello hello;
};

/// Which clients a server admits.
struct Admission {
  std::string address = "::";  // to listen at
  std::uint16_t port = kPort;  // 0: any
  std::string token;
  std::vector<wire::IpAddress> accepted;       // empty: any address
  std::size_t most_waiting = 64;               // connections without a Hello
  Duration timeout = std::chrono::seconds(5);  // for a Hello
};

/// Listens for clients and admits those with an accepted address, the token and a valid Hello;
/// others get a Refusal. Who waits without a Hello, and for how long: net::LineListener. One
/// thread.
class ClientListener {
 public:
  /// Errors: usage (not an address); environment (the port is taken).
  static Result<ClientListener> listen(Admission admission);

  /// Waits up to `timeout` for an admitted client. While `busy` is not empty all clients are
  /// refused, and `busy` is the reason.
  std::optional<Admitted> poll(Duration timeout, std::string_view busy = {});
  /// Returns the refusals since the last call as "ADDRESS: reason": the newest 100.
  std::vector<std::string> take_refusals();

  [[nodiscard]] std::uint16_t port() const noexcept { return listener_.port(); }
  [[nodiscard]] int descriptor() const noexcept { return listener_.descriptor(); }

 private:
  ClientListener(net::ListeningSocket socket, Admission admission);
  /// Returns the Hello of a client that is admitted. Error: the reason for its refusal.
  [[nodiscard]] Result<Hello> admit(const Result<std::string>& line, const wire::IpAddress& peer,
                                    std::string_view busy) const;

  Admission admission_;
  net::LineListener listener_;
  std::vector<std::string> refusals_;
};

}  // namespace lw::gen::handover
