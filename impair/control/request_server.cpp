// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/request_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace lw::impair {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 100;  // longest time until the thread notices its end
constexpr auto kIdleTimeout = std::chrono::seconds(10);
// A client with a too long request stays connected for this time, and nothing more is read from it.
// So it can't connect again at once.
constexpr auto kTooLongTimeout = std::chrono::seconds(1);
constexpr auto kShortageRest = std::chrono::milliseconds(1);
constexpr auto kFresh = std::chrono::milliseconds(20);
constexpr std::size_t kMostUnread = std::size_t{256} << 20;
constexpr int kMostAccepted = 64;  // per round, so that clients are served in between

/// A connection: receives one request, then sends the answer.
class Client {
 public:
  Client(int socket, Clock::time_point now) noexcept : socket_(socket), progress_(now) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(socket_); }

  [[nodiscard]] pollfd interest() const noexcept {
    const int events = !answer_ ? POLLIN : unread() > 0 ? POLLOUT : 0;
    return {.fd = socket_, .events = static_cast<short>(events), .revents = 0};
  }
  [[nodiscard]] std::size_t unread() const noexcept {
    return answer_ ? answer_->size() - sent_ : 0;
  }
  [[nodiscard]] bool is_late(Clock::time_point now) const noexcept {
    return now - progress_ > (too_long_ ? kTooLongTimeout : kIdleTimeout);
  }

  /// Receives and sends as much as possible without waiting. Returns false if the connection is
  /// over.
  bool serve(const RequestServer::Protocol& protocol, Clock::time_point now, bool hung_up) {
    progress_ = now;
    if (!answer_) {
      const bool open = receive(protocol);
      if (!answer_) return open;
    }
    if (!send_rest()) return false;
    return unread() > 0 || (too_long_ && !hung_up);
  }

 private:
  /// Receives, and makes the answer if the request is complete. Returns false if the request can't
  /// become complete.
  bool receive(const RequestServer::Protocol& protocol) {
    std::array<char, RequestServer::kLongestRequest + 1> piece;
    const auto count = recv(socket_, piece.data(), piece.size(), 0);
    if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
    // The end text may have begun in the previous piece.
    const std::size_t from = request_.size() - std::min(request_.size(), protocol.end.size());
    request_.append(piece.data(), static_cast<std::size_t>(count));
    const std::size_t end = request_.find(protocol.end, from);
    if (end <= RequestServer::kLongestRequest) {
      answer(protocol.answer(std::string_view(request_).substr(0, end)));
    } else if (request_.size() > RequestServer::kLongestRequest) {
      too_long_ = true;
      answer(std::make_shared<const std::string>(protocol.too_long));
    }
    return true;
  }

  void answer(SharedText text) noexcept {
    answer_ = std::move(text);
    request_ = {};
  }

  bool send_rest() noexcept {
    while (unread() > 0) {
      const auto count = send(socket_, answer_->data() + sent_, unread(), MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      sent_ += static_cast<std::size_t>(count);
    }
    return true;
  }

  int socket_;
  std::string request_;
  SharedText answer_;  // null: the request is not complete
  std::size_t sent_ = 0;
  bool too_long_ = false;
  Clock::time_point progress_;
};

/// The server's thread: all clients in one poll loop.
class Service {
 public:
  Service(int listening, const RequestServer::Protocol& protocol) noexcept
      : listening_(listening), protocol_(&protocol) {}

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      sockets_.assign(1, {.fd = listening_, .events = POLLIN, .revents = 0});
      for (const Client& client : clients_) sockets_.push_back(client.interest());
      if (poll(sockets_.data(), sockets_.size(), kPollMs) < 0) continue;
      const auto now = Clock::now();
      serve_ready(now);
      if (sockets_.front().revents != 0) accept_waiting(now);
      disconnect_stalled(now);
    }
  }

 private:
  void serve_ready(Clock::time_point now) {
    auto next = clients_.begin();
    for (std::size_t i = 1; i < sockets_.size(); ++i) {
      const auto client = next++;
      if (sockets_[i].revents == 0) continue;
      if (client->serve(*protocol_, now, (sockets_[i].revents & (POLLHUP | POLLERR)) != 0)) {
        clients_.splice(clients_.end(), clients_, client);
      } else {
        clients_.erase(client);
      }
    }
  }

  void accept_waiting(Clock::time_point now) {
    for (int i = 0; i < kMostAccepted; ++i) {
      const int socket = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (socket < 0) return make_room(errno);
      clients_.emplace_back(socket, now);
      if (clients_.size() > RequestServer::kMostClients) clients_.pop_front();
    }
  }

  /// Disconnects a client if descriptors or memory are short. The listening socket stays ready
  /// then, so this also sleeps: the loop must not spin.
  void make_room(int error) {
    if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return;
    if (!clients_.empty()) clients_.pop_front();
    std::this_thread::sleep_for(kShortageRest);
  }

  /// Disconnects clients without progress for too long. If answers take too much memory, also
  /// disconnects the first clients, which have the longest time without progress.
  void disconnect_stalled(Clock::time_point now) {
    std::erase_if(clients_, [now](const Client& client) { return client.is_late(now); });
    std::size_t unread = 0;
    for (const Client& client : clients_) unread += client.unread();
    for (; unread > kMostUnread; clients_.pop_front()) unread -= clients_.front().unread();
  }

  int listening_;
  const RequestServer::Protocol* protocol_;
  std::list<Client> clients_;    // in order of progress
  std::vector<pollfd> sockets_;  // the listening socket, then the clients' in their order
};

}  // namespace

SharedText RecentText::get(const std::function<std::string()>& make) {
  const auto now = Clock::now();
  if (!text_ || now - made_ > kFresh) {
    text_ = std::make_shared<const std::string>(make());
    made_ = now;
  }
  return text_;
}

RequestServer::RequestServer(ListeningSocket socket, Protocol protocol)
    : socket_(std::move(socket)),
      protocol_(std::move(protocol)),
      thread_([this](const std::stop_token& stop) {
        Service(socket_.descriptor(), protocol_).run(stop);
      }) {}

}  // namespace lw::impair
