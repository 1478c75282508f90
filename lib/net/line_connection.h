// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/time.h"
#include "net/socket.h"

namespace lw::net {

/// A function that is called every millisecond while waiting for a line.
using Meanwhile = std::function<void()>;

/// A connection for lines. Over TCP it detects within 15 s that the other host is gone. One thread.
class LineConnection {
 public:
  /// Takes over a connected socket that does not block. `longest`: bytes of a line that it reads.
  LineConnection(Socket socket, std::size_t longest);

  /// Sends a text. Errors (failed): the other side is gone, or reads nothing for 5 s.
  Result<void> send(std::string_view text);
  /// Returns the next line, without its newline, if one has arrived; does not wait. Errors
  /// (failed): the other side has closed the connection or is gone; a line is too long.
  Result<std::optional<std::string>> poll();
  /// Waits for the next line. Errors: those of poll(); none arrived within `timeout`, or `stop` was
  /// set (failed).
  Result<std::string> receive(Duration timeout, const std::atomic<bool>& stop,
                              const Meanwhile& meanwhile = {});
  /// Ends the sending side: the other side reads the end of the lines.
  void end_sending() noexcept;

  /// Returns true if the other side has ended its sending side, whether or not that is read.
  [[nodiscard]] bool ended() const noexcept;
  /// Returns true if poll() failed because a line is too long; the other side is still connected.
  [[nodiscard]] bool overlong() const noexcept { return received_.size() > longest_; }
  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
  [[nodiscard]] SocketAddress local() const noexcept;
  [[nodiscard]] SocketAddress peer() const noexcept;

 private:
  Socket socket_;
  std::size_t longest_;
  std::string received_;
};

}  // namespace lw::net
