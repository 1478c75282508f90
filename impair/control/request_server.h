// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "web/listening_socket.h"
#include "web/server.h"

namespace lw::impair {

using web::ListeningSocket, web::SharedText;

/// Caches a text that takes time of the forwarding loop to make. It is made again if it is older
/// than 20 ms, so at most 50 times per second for any number of clients. One thread.
class RecentText {
 public:
  /// Returns the cached text, or the result of `make` if that is too old.
  SharedText get(const std::function<std::string()>& make);
  /// Empties the cache.
  void forget() noexcept { text_ = nullptr; }

 private:
  SharedText text_;
  std::chrono::steady_clock::time_point made_;
};

/// Answers requests on its own thread, one request per connection: it reads up to `end`, calls
/// `answer`, sends the result, and closes the connection. No client waits for another: sockets
/// don't block, each client has its own buffers, and one round serves every client that is ready.
///
/// Bounds: a request has 16 KiB at most (a longer one gets `too_long`), 256 clients are connected
/// at most, and answers that were not read yet take 256 MiB at most. Above these limits, the client
/// with the longest time without progress is disconnected. Any client is disconnected after 10 s
/// without progress.
class RequestServer {
 public:
  static constexpr std::size_t kLongestRequest = std::size_t{1} << 14;
  static constexpr std::size_t kMostClients = 256;

  struct Protocol {
    std::string end;  // the text that ends a request
    std::function<SharedText(std::string_view request)> answer;
    std::string too_long;  // the answer to a request of more than kLongestRequest bytes
  };

  RequestServer(ListeningSocket socket, Protocol protocol);
  /// Ends the thread within 100 ms, or after the answer that it is making.
  ~RequestServer() = default;

  [[nodiscard]] std::uint16_t port() const noexcept { return socket_.port(); }

 private:
  ListeningSocket socket_;
  Protocol protocol_;
  std::jthread thread_;  // the last member: it uses all others
};

}  // namespace lw::impair
