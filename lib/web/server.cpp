// SPDX-License-Identifier: BSD-3-Clause
#include "web/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <httplib.h>
#include <list>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "report/json_line.h"

namespace lw::web {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAcceptPollMs = 100;  // how long an end may take to be noticed
constexpr auto kRequestTime = std::chrono::seconds(10);
constexpr int kSendMs = 5000;
constexpr auto kLastTime = std::chrono::milliseconds(500);
constexpr auto kPushInterval = std::chrono::milliseconds(500);
constexpr auto kLastPushTime = std::chrono::milliseconds(500);
// Of a connection: what a slow client does not take is not kept.
constexpr int kSendBuffer = 1 << 18;
constexpr auto kRestWithoutSocket = std::chrono::milliseconds(10);

/// One connection as httplib reads and writes it, with bounds of time and size.
class Connection final : public httplib::Stream {
 public:
  explicit Connection(int socket) noexcept : socket_(socket), by_(Clock::now() + kRequestTime) {}

  [[nodiscard]] bool is_readable() const override { return true; }
  [[nodiscard]] bool is_writable() const override {
    pollfd one{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    return poll(&one, 1, 0) >= 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
  }

  ssize_t read(char* to, std::size_t size) override {
    if (at_ == end_ && !fill()) return -1;
    const std::size_t count = std::min(size, end_ - at_);
    std::copy_n(buffer_.data() + at_, count, to);
    at_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* from, std::size_t size) override {
    std::size_t sent = 0;
    while (sent < size) {
      const auto count = send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) sent += static_cast<std::size_t>(count);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return -1;
      pollfd one{.fd = socket_, .events = POLLOUT, .revents = 0};
      if (count < 0 && poll(&one, 1, kSendMs) <= 0) return -1;
    }
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  [[nodiscard]] socket_t socket() const override { return socket_; }

  /// Takes what the client still sends, for a moment: a reset would take the answer from it.
  void end() {
    shutdown(socket_, SHUT_WR);
    by_ = std::min(by_, Clock::now() + kLastTime);
    while (fill()) {
    }
  }

 private:
  /// Waits for more of the request. False: its time or its size is over, or the client has gone.
  bool fill() {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(by_ - Clock::now()).count();
    pollfd one{.fd = socket_, .events = POLLIN, .revents = 0};
    if (left <= 0 || received_ >= Server::kMostRequest ||
        poll(&one, 1, static_cast<int>(left)) <= 0)
      return false;
    const std::size_t room = std::min(buffer_.size(), Server::kMostRequest - received_);
    const auto count = recv(socket_, buffer_.data(), room, 0);
    if (count <= 0) return false;
    received_ += static_cast<std::size_t>(count);
    at_ = 0;
    end_ = static_cast<std::size_t>(count);
    return true;
  }

  int socket_;
  Clock::time_point by_;
  std::array<char, 4096> buffer_;
  std::size_t at_ = 0, end_ = 0, received_ = 0;
};

void answer_json(httplib::Response& response, int status, const std::string& line) {
  response.status = status;
  response.set_content(line, "application/json");
}

void refuse(httplib::Response& response, int status, const std::string& reason) {
  const report::Json answer = {{"ok", false}, {"error", reason}};
  answer_json(response, status, report::json_line(answer));
}

Access::Headers headers_of(const httplib::Request& request) {
  return {.host = request.get_header_value("Host"),
          .origin = request.get_header_value("Origin"),
          .authorization = request.get_header_value("Authorization")};
}

/// A body that httplib reads within our bounds: of a stated length, JSON, not packed.
std::optional<Access::Refusal> refuse_body(const httplib::Request& request) {
  if (request.has_header("Transfer-Encoding") || request.has_header("Content-Encoding") ||
      !request.has_header("Content-Length"))
    return Access::Refusal{411, "expected a body with a Content-Length, as it is"};
  if (request.get_header_value("Content-Type") != "application/json")
    return Access::Refusal{415, "expected Content-Type: application/json"};
  return std::nullopt;
}

}  // namespace

/// httplib parses requests and routes them; accepting, threads and bounds are ours.
class Server::Service : private httplib::Server {
 public:
  Service(Site site, Content content)
      : socket_(std::move(site.socket)),
        access_(std::move(site.address), std::move(site.token)),
        content_(std::move(content)) {
    svr_sock_ = socket_.descriptor();  // httplib: not shutting down
    add_routes();
    accepting_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void finish();

  ~Service() override {
    svr_sock_ = INVALID_SOCKET;
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      for (const Client& client : clients_)
        if (!client.done) shutdown(client.socket, SHUT_RDWR);
    }
    changed_.notify_all();
    accepting_.request_stop();
    accepting_.join();
  }

 private:
  struct Client {
    int socket;
    bool done = false;    // guarded by mutex_
    std::jthread thread;  // joined by the destructor
  };

  void add_routes();
  std::optional<Access::Refusal> refusal_of(const httplib::Request& request) const;
  void stream(httplib::Response& response);
  bool push(httplib::DataSink& sink);
  void leave_stream();
  void accept_all(const std::stop_token& stop);
  void accept_one();
  void serve(Client& client);
  void reap();

  ListeningSocket socket_;
  Access access_;
  Content content_;
  std::condition_variable changed_;  // streams_, finishing_ or ending_
  std::mutex mutex_;                 // guards the next four
  std::size_t streams_ = 0;
  bool finishing_ = false;  // the state is the last one
  bool ending_ = false;
  std::list<Client> clients_;
  std::jthread accepting_;
};

void Server::Service::add_routes() {
  set_payload_max_length(kMostBody);
  // The page's own policy is in it; a header can't be left out where it is framed.
  set_default_headers({{"Content-Security-Policy", "frame-ancestors 'none'"},
                       {"X-Content-Type-Options", "nosniff"},
                       {"X-Frame-Options", "DENY"},
                       {"Referrer-Policy", "no-referrer"},
                       {"Cross-Origin-Resource-Policy", "same-origin"},
                       {"Cross-Origin-Opener-Policy", "same-origin"},
                       {"Cache-Control", "no-store"}});
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    const auto refusal = refusal_of(request);
    if (!refusal) return HandlerResponse::Unhandled;
    refuse(response, refusal->status, refusal->reason);
    return HandlerResponse::Handled;
  });
  Get("/", [this](const httplib::Request&, httplib::Response& response) {
    response.set_content(content_.page, "text/html; charset=utf-8");
  });
  Get("/favicon.ico",
      [](const httplib::Request&, httplib::Response& response) { response.status = 204; });
  Get("/events",
      [this](const httplib::Request&, httplib::Response& response) { stream(response); });
  if (!content_.answer) return;
  Post("/do", [this](const httplib::Request& request, httplib::Response& response) {
    answer_json(response, 200, *content_.answer(request.body));
  });
}

std::optional<Access::Refusal> Server::Service::refusal_of(const httplib::Request& request) const {
  const auto headers = headers_of(request);
  const bool reads = request.method == "GET";
  if (request.path == "/" || request.path == "/favicon.ico")
    return reads ? access_.refuse_page(headers) : Access::Refusal{405, "expected GET"};
  if (request.path == "/events")
    return reads ? access_.refuse_query(headers) : Access::Refusal{405, "expected GET"};
  if (!content_.answer || request.path != "/do")
    return Access::Refusal{
        404, content_.answer ? "expected /, /events or /do" : "expected / or /events"};
  if (request.method != "POST") return Access::Refusal{405, "expected POST"};
  if (auto refusal = access_.refuse_change(headers)) return refusal;
  return refuse_body(request);
}

void Server::Service::stream(httplib::Response& response) {
  {
    const std::lock_guard lock(mutex_);
    if (streams_ == kMostStreams)
      return refuse(response, 503, fmt::format("{} pages are open already", kMostStreams));
    ++streams_;
  }
  response.set_chunked_content_provider(
      "text/event-stream", [this](std::size_t, httplib::DataSink& sink) { return push(sink); },
      [this](bool) { leave_stream(); });
}

void Server::Service::leave_stream() {
  const std::lock_guard lock(mutex_);
  --streams_;
  changed_.notify_all();
}

/// Sends the state, and waits until the next one is due.
bool Server::Service::push(httplib::DataSink& sink) {
  const auto next = Clock::now() + kPushInterval;
  std::unique_lock lock(mutex_);
  const bool last = finishing_;
  lock.unlock();
  const SharedText state = content_.state();
  const std::string event = fmt::format("data: {}\n\n", *state);  // ends in one line break more
  if (!sink.write(event.data(), event.size())) return false;
  lock.lock();
  if (!last) changed_.wait_until(lock, next, [this] { return ending_ || finishing_; });
  if (last || ending_) sink.done();
  return sink.is_writable();
}

void Server::Service::finish() {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kLastPushTime, [this] { return streams_ == 0; });
}

void Server::Service::accept_all(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd one{.fd = socket_.descriptor(), .events = POLLIN, .revents = 0};
    if (poll(&one, 1, kAcceptPollMs) > 0) accept_one();
    reap();
  }
}

void Server::Service::accept_one() {
  const int socket = accept4(socket_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) {
    std::this_thread::sleep_for(kRestWithoutSocket);  // no descriptor left: don't spin
    return;
  }
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  reap();
  const std::lock_guard lock(mutex_);
  if (ending_ || clients_.size() >= kMostConnections) {
    close(socket);
    return;
  }
  Client& client = clients_.emplace_back(Client{.socket = socket, .thread = {}});
  client.thread = std::jthread([this, &client] { serve(client); });
}

void Server::Service::serve(Client& client) {
  Connection connection(client.socket);
  bool closed = false;
  process_request(connection, true, closed, nullptr);
  connection.end();
  const std::lock_guard lock(mutex_);
  close(client.socket);
  client.done = true;
}

/// Joins the threads of connections that have ended.
void Server::Service::reap() {
  std::list<Client> ended;
  const std::lock_guard lock(mutex_);
  for (auto next = clients_.begin(); next != clients_.end();) {
    const auto client = next++;
    if (client->done) ended.splice(ended.end(), clients_, client);
  }
}

Server::Server(Site site, Content content)
    : service_(std::make_unique<Service>(std::move(site), std::move(content))) {}

Server::~Server() = default;

void Server::finish() { service_->finish(); }

}  // namespace lw::web
