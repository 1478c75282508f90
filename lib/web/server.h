// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "net/request_server.h"
#include "web/http.h"
#include "web/site.h"

namespace lw::web {

/// What a live page shows, and what it may change. The functions are called on several threads at a
/// time.
struct Content {
  std::string page;                   // HTML, without data
  std::function<SharedText()> state;  // of the run: one line of JSON with its newline
  /// The answer, as JSON, to a request of at most net::kMostBody bytes of `peer`. Empty: the page
  /// only shows the run.
  std::function<SharedText(std::string_view request, const std::string& peer)> answer = {};
};

/// Returns the routes of a live page:
///
///   GET /        the page, without data
///   GET /events  by token: the state twice a second, as Server-Sent Events
///   POST /do     by token and Origin: a request, and its answer
std::vector<Route> routes_of(Content content);

/// Serves routes by HTTP. Bounds: those of net::RequestServer; a request has kMostHttpRequest bytes
/// at most, and costs a fixed amount beside them: its answer, of which cpp-httplib has a copy while
/// it composes it.
class Server {
 public:
  /// `threads`: see net::Protocol. Throws std::system_error if the system starts no thread.
  Server(Site site, std::vector<Route> routes, std::size_t threads = net::kAnswerThreads,
         Policy policy = {});
  /// Sends the state once more to each open page, which is then the last; waits up to 500 ms for
  /// the pages to take it.
  void finish() { server_.finish(); }

 private:
  Http http_;
  net::RequestServer server_;  // the last member: its threads use all others
};

}  // namespace lw::web
