// SPDX-License-Identifier: BSD-3-Clause
#include "net/request_client.h"

#include <array>
#include <cerrno>
#include <utility>

#include "net/limits.h"

namespace lw::net {

RequestClient::RequestClient(Socket socket, Clock::time_point now)
    : host(SocketAddress::of_peer(socket.descriptor()).host()),
      peer(peer_text(socket.descriptor())),
      socket_(std::move(socket)),
      progress_(now) {}

pollfd RequestClient::interest() const noexcept {
  int descriptor = socket_.descriptor(), events = POLLRDHUP;
  if (state_ == State::receiving) events = POLLIN;
  if (state_ == State::sending) events = POLLOUT;
  if (state_ == State::waiting) descriptor = -1;  // its answer is made even if it has gone
  return {.fd = descriptor, .events = static_cast<short>(events), .revents = 0};
}

bool RequestClient::is_late(Clock::time_point now) const noexcept {
  if (state_ == State::waiting || state_ == State::streaming) return false;
  return now - progress_ > (state_ == State::ending ? kLastTime : kIdleTime);
}

bool RequestClient::receive() {
  std::array<char, 4096> piece;
  const auto count = recv(socket_.descriptor(), piece.data(), piece.size(), 0);
  if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
  received_.append(piece.data(), static_cast<std::size_t>(count));
  return true;
}

std::string RequestClient::take_request(std::size_t length, Clock::time_point now) {
  state_ = State::waiting;
  progress_ = now;
  received_.resize(length);
  return std::exchange(received_, {});
}

void RequestClient::begin_text(std::shared_ptr<const std::string> text, bool more,
                               Clock::time_point now) {
  state_ = State::sending;
  progress_ = now;
  received_ = {};
  text_ = std::move(text);
  sent_ = 0;
  more_ = more;
}

bool RequestClient::send_rest(Clock::time_point now) {
  while (unread() > 0) {
    const auto count =
        send(socket_.descriptor(), text_->data() + sent_, unread(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    sent_ += static_cast<std::size_t>(count);
    progress_ = now;
  }
  text_ = nullptr;
  state_ = more_ ? State::streaming : State::ending;
  if (!more_) shutdown(socket_.descriptor(), SHUT_WR);
  return true;
}

}  // namespace lw::net
