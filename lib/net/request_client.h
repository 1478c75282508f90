// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <poll.h>
#include <string>
#include <string_view>

#include "net/address.h"
#include "net/socket.h"

namespace lw::net {

class AnswerJob;

/// A connection of a RequestServer: receives one request, sends its answer, perhaps events, and
/// ends. Nothing waits. The server's thread.
class RequestClient {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t {
    receiving,  // the request
    waiting,    // for the answer
    sending,
    streaming,  // between two events
    ending,     // until the client has closed the connection
  };

  RequestClient(Socket socket, Clock::time_point now);

  const Host host;
  const std::string peer;               // see peer_text()
  std::shared_ptr<AnswerJob> job = {};  // that makes the answer; null: none does
  [[nodiscard]] State state() const noexcept { return state_; }
  /// The events that poll(2) has to wait for; the descriptor is -1 where there are none.
  [[nodiscard]] pollfd interest() const noexcept;
  [[nodiscard]] bool is_late(Clock::time_point now) const noexcept;

  /// Receives what has arrived. Returns false if the client has gone.
  bool receive();
  [[nodiscard]] std::string_view received() const noexcept { return received_; }
  /// Removes the request with its `length`; the client waits for the answer from now on.
  std::string take_request(std::size_t length, Clock::time_point now);

  /// Begins to send a text. `more`: other texts follow.
  void begin_text(std::shared_ptr<const std::string> text, bool more, Clock::time_point now);
  /// Sends as much as the client takes. Returns false if the client has gone.
  bool send_rest(Clock::time_point now);
  /// Bytes of the text that the client has not taken.
  [[nodiscard]] std::size_t unread() const noexcept { return text_ ? text_->size() - sent_ : 0; }
  [[nodiscard]] bool is_stream() const noexcept { return more_; }

 private:
  Socket socket_;
  State state_ = State::receiving;
  std::string received_;
  std::shared_ptr<const std::string> text_;
  std::size_t sent_ = 0;
  bool more_ = false;
  Clock::time_point progress_;  // the begin of the state, or the last bytes sent
};

}  // namespace lw::net
