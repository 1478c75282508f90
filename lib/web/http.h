// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/limits.h"
#include "net/request_server.h"
#include "web/access.h"

namespace lw::web {

using net::SharedText, net::shared;

/// An answer with a status and a type of its own.
struct HttpReply {
  int status = 200;
  std::string type;  // Content-Type
  SharedText text;
};

/// What a path answers. The functions are called on several threads at a time.
struct Route {
  enum class Kind : std::uint8_t {
    get,
    post,    // of JSON, or of Policy::more_types, and of Policy::most_body bytes at most
    patch,   // as post
    events,  // GET; the answer is sent twice a second, as Server-Sent Events
  };
  std::string path;  // "/metrics"
  Guard guard = Guard::page;
  Kind kind = Kind::get;
  std::string type;  // Content-Type of the answer; of events: of each event
  /// Null: an answer without content. `body` is empty for `get` and `events`; `peer`: see
  /// net::peer_text().
  std::function<SharedText(std::string_view body, const std::string& peer)> answer = {};
  /// In place of `answer`.
  std::function<HttpReply(std::string_view body, const std::string& peer)> reply = {};
};

/// A type of bodies besides application/json.
struct BodyType {
  std::string type;  // of Content-Type
  /// Returns a body as JSON. Its error is answered with 400.
  std::function<Result<std::string>(std::string_view body)> to_json;
};

/// What all routes of a server have in common.
struct Policy {
  std::size_t most_body = net::kMostBody;  // of a request, in bytes
  std::vector<BodyType> more_types = {};   // that requests may have besides JSON
  /// The body of an answer that refuses a request, as JSON; null: {"ok": false, "error": REASON}.
  std::function<std::string(int status, const std::string& reason)> refusal = {};
};

/// Answers HTTP requests, each of which is a text: cpp-httplib parses the request and composes the
/// answer. Of the headers, it only sees those that the routes need, so it acts on no other one:
/// Range, If-Range, Accept-Encoding, Expect and all others are ignored, and a query too. No I/O.
/// Any thread.
class Http {
 public:
  /// At most one route has events. A path may have one route for each method.
  Http(Access access, std::vector<Route> routes, Policy policy = {});
  ~Http();

  /// Returns the length of the request with which `received` begins, in bytes; nothing while more
  /// has to come. A body that is too long to be read does not count.
  [[nodiscard]] std::optional<std::size_t> length(std::string_view received) const;
  /// Returns the answer to a request, with which the connection ends, or after which events follow.
  [[nodiscard]] net::Protocol::Answer answer(std::string_view request,
                                             const std::string& peer) const;
  /// Returns the next event; requires a route with events.
  [[nodiscard]] SharedText event() const;
  /// Returns an answer that needs no request. `status`: "503 Service Unavailable".
  [[nodiscard]] std::string refusal(std::string_view status, const std::string& reason) const;
  [[nodiscard]] const Policy& policy() const noexcept { return policy_; }

 private:
  class Router;
  Policy policy_;
  std::unique_ptr<Router> router_;
};

}  // namespace lw::web
