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

/// Returns the host of "HOST", "HOST:PORT" or "[IPV6]:PORT"; empty for other forms.
std::string host_of(std::string_view where);

/// A function that is called every millisecond while waiting for a line. A client with its own port
/// answers ARP there, because the server resolves the client's MAC address before it makes an
/// offer.
using Meanwhile = std::function<void()>;

/// A TCP connection for lines; the destructor closes it. Detects within 15 s that the other host is
/// gone. One thread.
class Link {
 public:
  /// Takes over a connected socket.
  explicit Link(int socket);
  Link(Link&& other) noexcept;
  Link& operator=(Link&& other) noexcept;
  ~Link();

  /// Connects to "HOST", "HOST:PORT" or "[IPV6]:PORT". Errors: usage (not an address); environment
  /// (an unknown host, no server at this address, no answer within `timeout`).
  static Result<Link> connect(std::string_view where, Duration timeout);

  /// Sends a line. Errors (failed): the other side is gone, or reads nothing for 5 s.
  Result<void> send(std::string_view line);
  /// Returns the next line, without its newline, if one has arrived; does not wait. Errors
  /// (failed): the other side has closed the connection or is gone; a line is longer than
  /// kMostBytes.
  Result<std::optional<std::string>> poll();
  /// Waits for the next line. Errors: those of poll(); none arrived within `timeout`, or `stop` was
  /// set (failed).
  Result<std::string> receive(Duration timeout, const std::atomic<bool>& stop,
                              const Meanwhile& meanwhile = {});

  /// Returns true if poll() failed because a line is too long; the other side is still connected.
  [[nodiscard]] bool overlong() const noexcept { return received_.size() > kMostBytes; }
  [[nodiscard]] int descriptor() const noexcept { return socket_; }
  [[nodiscard]] wire::IpAddress local() const noexcept;
  [[nodiscard]] wire::IpAddress peer() const noexcept;

 private:
  int socket_;
  std::string received_;
};

/// The client's side of a session: the connection, and the lines in their order. An error that the
/// server reports is returned as a refusal with its reason.
class Client {
 public:
  /// Errors: those of Link::connect().
  static Result<Client> connect(std::string_view where, Duration timeout);

  /// Sends the hello and waits for the offer. Errors (failed): refused; no answer, or an invalid
  /// one.
  Result<Offer> open(const Hello& hello, Duration timeout, const std::atomic<bool>& stop,
                     const Meanwhile& meanwhile = {});
  /// Checks that the server is still connected; does not wait. Call it at intervals during a run.
  /// Errors (failed): the server is gone or ended the session, with its reason.
  Result<void> check();
  /// Reports that everything is sent, and waits for the server's report.
  Result<Report> finish(const Done& done, Duration timeout, const std::atomic<bool>& stop,
                        const Meanwhile& meanwhile = {});

  /// The own address on the route to the server, and the server's address.
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
/// others get a Refusal. Connections without a Hello are closed after a timeout. When there are too
/// many, the oldest one of the address with the most connections is closed, so that an address
/// can't exclude others. One thread.
class ClientListener {
 public:
  /// Errors: usage (not an address); environment (the port is taken).
  static Result<ClientListener> listen(Admission admission);
  ClientListener(ClientListener&& other) noexcept;
  ClientListener& operator=(ClientListener&&) = delete;
  ~ClientListener();

  /// Waits up to `timeout` for an admitted client. While `busy` is not empty all clients are
  /// refused, and `busy` is the reason.
  std::optional<Admitted> poll(Duration timeout, std::string_view busy = {});
  /// Returns the refusals since the last call as "ADDRESS: reason": the newest 100.
  std::vector<std::string> take_refusals();

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return socket_; }

 private:
  struct Waiting {
    Link link;
    wire::IpAddress peer;
    Instant until;
    bool refused = false;  // waits only until the client has read the reason
  };
  ClientListener(int socket, Admission admission)
      : socket_(socket), admission_(std::move(admission)) {}
  void accept_all();
  void drop_surplus();
  void wait(Duration timeout) const;
  /// Returns true if the connection continues to wait. Stores an admitted client in `admitted`.
  bool look_at(Waiting& one, std::string_view busy, std::optional<Admitted>& admitted);
  void refuse(Waiting& one, const std::string& reason);

  int socket_;
  Admission admission_;
  std::list<Waiting> waiting_;  // oldest first
  std::vector<std::string> refusals_;
};

}  // namespace lw::gen::handover
