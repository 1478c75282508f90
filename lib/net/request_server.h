// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/limits.h"
#include "net/socket.h"

namespace lw::net {

/// An answer that several clients may be reading at once.
using SharedText = std::shared_ptr<const std::string>;

/// Returns the text as a SharedText.
inline SharedText shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

/// What a RequestServer says. The functions are called on several threads at a time; an exception
/// in `answer` or `event` ends the connection.
struct Protocol {
  struct Answer {
    SharedText text;
    bool is_stream = false;  // events follow
  };
  std::size_t longest;  // bytes of a request
  /// Returns the length of the request with which `received` begins, in bytes; nothing while more
  /// has to come.
  std::function<std::optional<std::size_t>(std::string_view received)> length;
  /// `peer`: see peer_text().
  std::function<Answer(std::string_view request, const std::string& peer)> answer;
  SharedText too_long;                     // the answer to a longer request
  SharedText too_many_streams = {};        // the answer to a request for one more stream
  std::function<SharedText()> event = {};  // what each stream gets next
  std::size_t threads = kAnswerThreads;    // that make answers; 0: the server's own one makes them
};

/// Returns the length of a request that is a line, without its end, for Protocol::length.
std::optional<std::size_t> line_length(std::string_view received) noexcept;

/// Answers one request per connection and closes it, or sends events from then on, twice a second.
/// One thread moves the bytes of all clients, and none of them waits for another; a fixed number of
/// threads makes the answers.
///
/// Bounds (net/limits.h): kMostClients connections, of which kMostStreams get events; `longest`
/// bytes of a request, which comes within kIdleTime; kMostUnread bytes of answers. A client that
/// takes nothing of its answer for kIdleTime is disconnected. Where a limit is reached, the longest
/// idle client of the host that uses most of it gives way; also where the process has no further
/// descriptor. A connection costs twice the bytes of its request at most, 512 bytes, and its
/// answer.
class RequestServer {
 public:
  /// Throws std::system_error if the system starts no thread.
  RequestServer(ListeningSocket socket, Protocol protocol);
  /// Ends the threads within 100 ms, or after the answers that they are making.
  ~RequestServer();

  /// Sends each stream one more event, which is then the last. Waits up to 500 ms until they are
  /// sent.
  void finish();
  [[nodiscard]] std::uint16_t port() const noexcept;

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace lw::net
