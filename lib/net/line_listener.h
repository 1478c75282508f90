// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/time.h"
#include "net/line_connection.h"

namespace lw::net {

/// Accepts connections and reads a first line from each. Connections that send none are closed
/// after a time. When there are too many, the oldest one of the host that has most of them is
/// closed, so that a host can't exclude others. One thread.
class LineListener {
 public:
  struct Limits {
    std::size_t line;     // longest line, in bytes
    std::size_t waiting;  // connections without a line, at a time
    Duration idle;        // time for the first line
  };
  /// A connection and its first line. Error (failed): the line is too long.
  struct Arrival {
    LineConnection connection;
    Result<std::string> line;
  };

  LineListener(ListeningSocket socket, const Limits& limits)
      : socket_(std::move(socket)), limits_(limits) {}

  /// Waits up to `timeout` for a first line.
  std::optional<Arrival> poll(Duration timeout);
  /// Sends a last line, and keeps the connection for up to 2 s until the other side has read it.
  void dismiss(LineConnection connection, std::string_view line);

  [[nodiscard]] std::uint16_t port() const noexcept { return socket_.port(); }
  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    LineConnection connection;
    Host host;
    Clock::time_point until;
    bool dismissed = false;  // waits only until the other side has closed it
  };

  void accept_all();
  void add(LineConnection connection, Duration time, bool dismissed);
  void drop_one();
  std::optional<Arrival> next_arrival();
  void wait(Duration timeout) const;

  ListeningSocket socket_;
  Limits limits_;
  std::list<Waiting> waiting_;  // oldest first
};

}  // namespace lw::net
