// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/request_server.h"
#include "web/access.h"

namespace lw::web {

using net::SharedText, net::shared;

/// What a path answers. The functions are called on several threads at a time.
struct Route {
  enum class Kind : std::uint8_t {
    get,
    post,    // of JSON, kMostBody bytes at most
    events,  // GET; the answer is sent twice a second, as Server-Sent Events
  };
  std::string path;  // "/metrics"
  Guard guard = Guard::page;
  Kind kind = Kind::get;
  std::string type;  // Content-Type of the answer; of events: of each event
  /// Null: an answer without content. `body` is empty for `get` and `events`; `peer`: see
  /// net::peer_text().
  std::function<SharedText(std::string_view body, const std::string& peer)> answer = {};
};

/// Answers HTTP requests, each of which is a text: cpp-httplib parses the request and composes the
/// answer. Of the headers, it only sees those that the routes need, so it acts on no other one:
/// Range, If-Range, Accept-Encoding, Expect and all others are ignored, and a query too. No I/O.
/// Any thread.
class Http {
 public:
  /// At most one route has events.
  Http(Access access, std::vector<Route> routes);
  ~Http();

  /// Returns the length of the request with which `received` begins, in bytes; nothing while more
  /// has to come. A body that is too long to be read does not count.
  [[nodiscard]] static std::optional<std::size_t> length(std::string_view received);
  /// Returns the answer to a request, with which the connection ends, or after which events follow.
  [[nodiscard]] net::Protocol::Answer answer(std::string_view request,
                                             const std::string& peer) const;
  /// Returns the next event; requires a route with events.
  [[nodiscard]] SharedText event() const;
  /// Returns an answer that needs no request. `status`: "503 Service Unavailable".
  static std::string refusal(std::string_view status, const std::string& reason);

 private:
  class Router;
  std::unique_ptr<Router> router_;
};

}  // namespace lw::web
