// SPDX-License-Identifier: BSD-3-Clause
#include "net/request_server.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <numeric>
#include <poll.h>
#include <thread>
#include <utility>
#include <vector>

#include "net/answer_job.h"
#include "net/request_client.h"
#include "net/surplus.h"
#include "net/workers.h"

namespace lw::net {
namespace {

using Clock = RequestClient::Clock;
using State = RequestClient::State;

constexpr auto kLongestPoll = std::chrono::milliseconds(100);
constexpr auto kEventInterval = std::chrono::milliseconds(500);
constexpr auto kLastEventTime = std::chrono::milliseconds(500);
constexpr auto kShortageRest = std::chrono::milliseconds(1);
constexpr int kMostAccepted = 64;  // per round, so that clients are served in between

}  // namespace

class RequestServer::Service {
 public:
  Service(ListeningSocket socket, Protocol protocol)
      : socket_(std::move(socket)),
        protocol_(std::move(protocol)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void finish();
  [[nodiscard]] std::uint16_t port() const noexcept { return socket_.port(); }

 private:
  using Clients = std::list<RequestClient>;

  void run(const std::stop_token& stop);
  void serve_round();
  void poll_all();
  void accept_waiting();
  void serve_ready();
  bool serve(RequestClient& client);
  bool take_request(RequestClient& client);
  void send_answers();
  bool send_answer(RequestClient& client);
  void send_events();
  void send_event(const SharedText& event);
  void disconnect_stalled();
  void drop(Clients::iterator client);
  void keep(Clients::iterator client, bool is_open);
  [[nodiscard]] std::shared_ptr<AnswerJob> make(std::optional<AnswerJob::Request> request);
  [[nodiscard]] bool has_streams() const {
    return std::ranges::any_of(clients_, &RequestClient::is_stream);
  }

  ListeningSocket socket_;
  Protocol protocol_;
  Wake wake_;
  std::atomic<bool> finishing_ = false;
  std::mutex mutex_;  // guards the next two
  std::condition_variable changed_;
  bool streams_ended_ = false;
  // Those of thread_ alone:
  Clients clients_;              // in the order of their progress
  std::vector<pollfd> sockets_;  // the listening socket, wake_, and the clients' in their order
  Clock::time_point now_{}, next_event_{};
  std::shared_ptr<AnswerJob> event_;
  bool event_is_last_ = false;
  std::optional<Workers> workers_;
  std::jthread thread_;  // the last member: it uses all others
};

void RequestServer::Service::run(const std::stop_token& stop) {
  // After this thread: without it, the others would be of no use.
  workers_.emplace(protocol_.threads);
  const std::stop_callback ends(stop, [this] { wake_.signal(); });
  while (!stop.stop_requested()) {
    try {
      serve_round();
    } catch (const std::bad_alloc&) {
      if (!clients_.empty()) drop(surplus_client(clients_, kEachClient));
    }
  }
}

void RequestServer::Service::serve_round() {
  poll_all();
  now_ = Clock::now();
  serve_ready();
  if (sockets_[0].revents != 0) accept_waiting();
  send_answers();
  send_events();
  disconnect_stalled();
}

void RequestServer::Service::poll_all() {
  sockets_.assign(1, {.fd = socket_.descriptor(), .events = POLLIN, .revents = 0});
  sockets_.push_back({.fd = wake_.descriptor(), .events = POLLIN, .revents = 0});
  for (const RequestClient& client : clients_) sockets_.push_back(client.interest());
  if (poll(sockets_.data(), sockets_.size(), kLongestPoll.count()) < 0)
    for (pollfd& socket : sockets_) socket.revents = 0;
  wake_.clear();
}

void RequestServer::Service::accept_waiting() {
  for (int i = 0; i < kMostAccepted; ++i) {
    auto socket = socket_.accept();
    if (!socket && (socket.error() == EAGAIN || socket.error() == ECONNABORTED)) return;
    if (socket) clients_.emplace_back(std::move(*socket), now_);
    if (!clients_.empty() && (!socket || clients_.size() > kMostClients))
      drop(surplus_client(clients_, kEachClient));
    if (socket) continue;
    // Descriptors or memory are short, and the listening socket stays ready: don't spin.
    return std::this_thread::sleep_for(kShortageRest);
  }
}

void RequestServer::Service::serve_ready() {
  auto next = clients_.begin();
  for (std::size_t i = 2; i < sockets_.size(); ++i) {
    const auto client = next++;
    if (sockets_[i].revents != 0) keep(client, serve(*client));
  }
}

/// Returns false if the connection is over.
bool RequestServer::Service::serve(RequestClient& client) {
  switch (client.state()) {
    case State::receiving:
      return client.receive() && take_request(client);
    case State::sending:
      return client.send_rest(now_);
    case State::waiting:
      return true;
    case State::streaming:
    case State::ending:
      break;
  }
  return false;
}

bool RequestServer::Service::take_request(RequestClient& client) {
  const auto length = protocol_.length(client.received());
  if (length && *length <= protocol_.longest) {
    client.job = make(AnswerJob::Request{client.take_request(*length, now_), client.peer});
  } else if (length || client.received().size() > protocol_.longest) {
    client.begin_text(protocol_.too_long, false, now_);
    return client.send_rest(now_);
  }
  return true;
}

void RequestServer::Service::send_answers() {
  for (auto next = clients_.begin(); next != clients_.end();) {
    const auto client = next++;
    if (!client->job || !client->job->done()) continue;
    if (!send_answer(*client)) drop(client);
  }
}

bool RequestServer::Service::send_answer(RequestClient& client) {
  Protocol::Answer answer = std::exchange(client.job, nullptr)->answer();
  if (!answer.text) return false;
  if (answer.is_stream && std::ranges::count_if(clients_, &RequestClient::is_stream) ==
                              static_cast<std::ptrdiff_t>(kMostStreams))
    answer = {.text = protocol_.too_many_streams};
  if (answer.is_stream) next_event_ = now_;
  client.begin_text(std::move(answer.text), answer.is_stream, now_);
  return client.send_rest(now_);
}

/// Makes the next event when it is due, and sends it when it is made.
void RequestServer::Service::send_events() {
  if (event_ && event_->done()) {
    send_event(event_->answer().text);
    event_ = nullptr;
    next_event_ = now_ + kEventInterval;
  }
  const bool streams = has_streams();
  if (streams && !event_ && (finishing_ || now_ >= next_event_)) {
    event_is_last_ = finishing_;
    event_ = make(std::nullopt);
  }
  const auto sends = [](const RequestClient& client) { return client.state() == State::sending; };
  if (streams || !finishing_ || std::ranges::any_of(clients_, sends)) return;
  const std::lock_guard lock(mutex_);
  streams_ended_ = true;
  changed_.notify_all();
}

/// A client that has not taken the event before gets none.
void RequestServer::Service::send_event(const SharedText& event) {
  for (auto next = clients_.begin(); next != clients_.end();) {
    const auto client = next++;
    if (client->state() != State::streaming) continue;
    if (event) client->begin_text(event, !event_is_last_, now_);
    keep(client, event && client->send_rest(now_));
  }
}

void RequestServer::Service::disconnect_stalled() {
  for (auto next = clients_.begin(); next != clients_.end();) {
    const auto client = next++;
    if (client->is_late(now_)) drop(client);
  }
  const auto unread = [](const RequestClient& client) { return client.unread(); };
  const auto reads = [&](const RequestClient& client) { return unread(client) > 0; };
  std::size_t sum =
      std::transform_reduce(clients_.begin(), clients_.end(), std::size_t{0}, std::plus{}, unread);
  while (sum > kMostUnread && std::ranges::count_if(clients_, reads) > 1) {
    const auto client = surplus_client(clients_, unread);
    sum -= client->unread();
    drop(client);
  }
}

void RequestServer::Service::drop(Clients::iterator client) {
  if (client->job) workers_->cancel(client->job);
  clients_.erase(client);
}

/// A client that made progress is the last one to give way.
void RequestServer::Service::keep(Clients::iterator client, bool is_open) {
  if (!is_open) return drop(client);
  if (client->state() != State::receiving) clients_.splice(clients_.end(), clients_, client);
}

std::shared_ptr<AnswerJob> RequestServer::Service::make(std::optional<AnswerJob::Request> request) {
  auto job = std::make_shared<AnswerJob>(protocol_, wake_, std::move(request));
  workers_->run(job);
  return job;
}

void RequestServer::Service::finish() {
  finishing_ = true;
  wake_.signal();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kLastEventTime, [this] { return streams_ended_; });
}

std::optional<std::size_t> line_length(std::string_view received) noexcept {
  const auto end = received.find('\n');
  return end == std::string_view::npos ? std::nullopt : std::optional(end);
}

RequestServer::RequestServer(ListeningSocket socket, Protocol protocol)
    : service_(std::make_unique<Service>(std::move(socket), std::move(protocol))) {}

RequestServer::~RequestServer() = default;

void RequestServer::finish() { service_->finish(); }

std::uint16_t RequestServer::port() const noexcept { return service_->port(); }

}  // namespace lw::net
