// SPDX-License-Identifier: BSD-3-Clause
#include "net/line_listener.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <vector>

#include "net/surplus.h"

namespace lw::net {
namespace {

constexpr Duration kLongestWait = std::chrono::milliseconds(50);
constexpr Duration kReadLastLineFor = std::chrono::seconds(2);

}  // namespace

std::optional<LineListener::Arrival> LineListener::poll(Duration timeout) {
  const auto until = Clock::now() + timeout;
  while (true) {
    accept_all();
    if (auto arrival = next_arrival()) return arrival;
    const auto now = Clock::now();
    if (now >= until) return std::nullopt;
    wait(std::min<Duration>(until - now, kLongestWait));
  }
}

void LineListener::dismiss(LineConnection connection, std::string_view line) {
  static_cast<void>(connection.send(line));
  // End only the sending side: a close with unread data would reset the connection before the
  // other side has read the line.
  connection.end_sending();
  add(std::move(connection), kReadLastLineFor, true);
}

void LineListener::accept_all() {
  for (std::size_t i = 0; i < limits_.waiting; ++i) {
    auto socket = socket_.accept();
    if (!socket) {
      // Without a descriptor or memory for it, the connection stays in the queue: make room.
      if (socket.error() != EAGAIN && socket.error() != ECONNABORTED) drop_one();
      return;
    }
    add(LineConnection(std::move(*socket), limits_.line), limits_.idle, false);
  }
}

void LineListener::add(LineConnection connection, Duration time, bool dismissed) {
  const Host host = connection.peer().host();
  waiting_.push_back({std::move(connection), host, Clock::now() + time, dismissed});
  if (waiting_.size() > limits_.waiting) drop_one();
}

void LineListener::drop_one() {
  if (!waiting_.empty()) waiting_.erase(surplus_client(waiting_, kEachClient));
}

/// Closes connections that are late or gone, and returns the first one that has sent its line.
std::optional<LineListener::Arrival> LineListener::next_arrival() {
  const auto now = Clock::now();
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto one = next++;
    if (now >= one->until || (one->dismissed && one->connection.ended())) {
      waiting_.erase(one);
      continue;
    }
    if (one->dismissed) continue;  // what it still sends stays in the socket
    auto line = one->connection.poll();
    if (line && !*line) continue;
    std::optional<Arrival> arrival;
    if (line) arrival.emplace(std::move(one->connection), std::move(**line));
    if (!line && one->connection.overlong())
      arrival.emplace(std::move(one->connection), std::unexpected(line.error()));
    waiting_.erase(one);
    if (arrival) return arrival;
  }
  return std::nullopt;
}

void LineListener::wait(Duration timeout) const {
  std::vector<pollfd> all{{socket_.descriptor(), POLLIN, 0}};
  for (const Waiting& one : waiting_) {
    const int events = one.dismissed ? POLLRDHUP : POLLIN;
    all.push_back({one.connection.descriptor(), static_cast<short>(events), 0});
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  ::poll(all.data(), all.size(), static_cast<int>(left));
}

}  // namespace lw::net
