// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "gen/perf/session/handover.h"

namespace lw::gen::handover {

/// The host of "HOST", "HOST:PORT" or "[IPV6]:PORT"; empty: none of them.
std::string host_of(std::string_view where);

/// What is done each millisecond while waiting for a line. A client that has a port of its own
/// answers ARP there: the server asks for its MAC address before it makes an offer.
using Meanwhile = std::function<void()>;

/// A TCP connection that carries lines, closed with the object. Finds out within 15 s that the
/// other host is gone. One thread.
class Link {
 public:
  /// Takes over a connected socket.
  explicit Link(int socket);
  Link(Link&& other) noexcept;
  Link& operator=(Link&& other) noexcept;
  ~Link();

  /// Connects to "HOST", "HOST:PORT" or "[IPV6]:PORT". Errors: usage (not an address); environment
  /// (an unknown host, nobody listens there, no answer within `timeout`).
  static Result<Link> connect(std::string_view where, Duration timeout);

  /// Sends a line. Errors (failed): the other side is gone, or takes nothing for 5 s.
  Result<void> send(std::string_view line);
  /// The next line, without its newline, if one is there; does not wait. Errors (failed): the other
  /// side has closed the connection or is gone; a line is longer than kMostBytes.
  Result<std::optional<std::string>> poll();
  /// The next line, waiting for it. Errors: as poll(); failed: none within `timeout`, or `stop`.
  Result<std::string> receive(Duration timeout, const std::atomic<bool>& stop,
                              const Meanwhile& meanwhile = {});

  /// Whether poll() failed because of a line that is too long: the other side is still there.
  [[nodiscard]] bool overlong() const noexcept { return received_.size() > kMostBytes; }
  [[nodiscard]] int descriptor() const noexcept { return socket_; }
  [[nodiscard]] wire::IpAddress local() const noexcept;
  [[nodiscard]] wire::IpAddress peer() const noexcept;

 private:
  int socket_;
  std::string received_;
};

/// The client's side of a session: the connection, and the lines in their order. Every error that
/// the server states is a refusal with its reason.
class Client {
 public:
  /// Errors: as Link::connect().
  static Result<Client> connect(std::string_view where, Duration timeout);

  /// Says hello and waits for the offer. Errors (failed): refused; no or a wrong answer.
  Result<Offer> open(const Hello& hello, Duration timeout, const std::atomic<bool>& stop,
                     const Meanwhile& meanwhile = {});
  /// Whether the server is still there; does not wait. Call it now and then during a run. Errors
  /// (failed): the server is gone or ended the session, with its reason.
  Result<void> check();
  /// Says that everything is sent and waits for the server's report.
  Result<Report> finish(const Done& done, Duration timeout, const std::atomic<bool>& stop,
                        const Meanwhile& meanwhile = {});

  /// The own address on the way to the server, and the server's.
  [[nodiscard]] wire::IpAddress local() const noexcept { return link_.local(); }
  [[nodiscard]] wire::IpAddress peer() const noexcept { return link_.peer(); }

 private:
  explicit Client(Link link) : link_(std::move(link)) {}
  Link link_;
};

/// An admitted client, from its Hello on.
struct Admitted {
  Link link;
  wire::IpAddress peer;
  Hello hello;
};

/// Whom a server admits.
struct Admission {
  std::string address = "::";  // to listen at
  std::uint16_t port = kPort;  // 0: any
  std::string token;
  std::vector<wire::IpAddress> accepted;       // empty: any address
  std::size_t most_waiting = 64;               // connections without a Hello
  Duration timeout = std::chrono::seconds(5);  // for a Hello
};

/// Listens for clients and admits those with the right address, token and Hello; the others get a
/// Refusal. Connections that say nothing are closed after a while; when there are too many, the
/// oldest of the address that has the most, so that they don't keep others out. One thread.
class ClientListener {
 public:
  /// Errors: usage (not an address); environment (the port is taken).
  static Result<ClientListener> listen(Admission admission);
  ClientListener(ClientListener&& other) noexcept;
  ClientListener& operator=(ClientListener&&) = delete;
  ~ClientListener();

  /// Waits up to `timeout` for an admitted client. While `busy` is not empty nobody is admitted,
  /// and this is the reason.
  std::optional<Admitted> poll(Duration timeout, std::string_view busy = {});
  /// "ADDRESS: reason" of the refusals since the last call; the oldest are left out after 100.
  std::vector<std::string> take_refusals();

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return socket_; }

 private:
  struct Waiting {
    Link link;
    wire::IpAddress peer;
    Instant until;
    bool refused = false;  // waits only for the client to read why
  };
  ClientListener(int socket, Admission admission)
      : socket_(socket), admission_(std::move(admission)) {}
  void accept_all();
  void drop_surplus();
  void wait(Duration timeout) const;
  /// Whether the connection goes on waiting; an admitted client goes to `admitted`.
  bool look_at(Waiting& one, std::string_view busy, std::optional<Admitted>& admitted);
  void refuse(Waiting& one, const std::string& reason);

  int socket_;
  Admission admission_;
  std::list<Waiting> waiting_;  // oldest first
  std::vector<std::string> refusals_;
};

}  // namespace lw::gen::handover
