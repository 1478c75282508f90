// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "impair/control/listening_socket.h"

namespace lw::impair {

/// Answers requests on a thread of its own, one after the other: reads to `end`, calls `answer`,
/// writes what it returns, closes. A client that is slow (2 s) or says too much (1 MiB) is cut off,
/// so that none can hold up the rest for long.
class RequestServer {
 public:
  using Answer = std::function<std::string(std::string_view request)>;

  RequestServer(ListeningSocket socket, std::string end, Answer answer);
  /// Ends the thread within its poll interval.
  ~RequestServer() = default;

  [[nodiscard]] std::uint16_t port() const noexcept { return socket_.port(); }

 private:
  void work(const std::stop_token& stop);
  void serve(int client) const;

  ListeningSocket socket_;
  std::string end_;
  Answer answer_;
  std::jthread thread_;
};

}  // namespace lw::impair
