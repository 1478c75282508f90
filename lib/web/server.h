// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "web/site.h"

namespace lw::web {

/// An answer that several clients may be reading at once.
using SharedText = std::shared_ptr<const std::string>;

/// What a live page shows, and what it may change. The functions are called on several threads at a
/// time.
struct Content {
  std::string page;                   // HTML, without data
  std::function<SharedText()> state;  // of the run: one line of JSON with its newline
  /// The answer, as JSON, to a request of at most Server::kMostBody bytes. Empty: the page only
  /// shows the run.
  std::function<SharedText(std::string_view request)> answer = {};
};

/// Serves the live page by HTTP, on threads of its own: one accepts, and each connection has one
/// until it ends.
///
///   GET /        the page, without data
///   GET /events  by token: the state twice a second, as Server-Sent Events
///   POST /do     by token and Origin: a request, and its answer
///
/// Bounds: 32 connections, 8 of them /events; a request has 20 KiB at most and comes within 10 s;
/// a client that takes nothing for 5 s is disconnected. None of them delays another one.
class Server {
 public:
  static constexpr std::size_t kMostConnections = 32, kMostStreams = 8;
  static constexpr std::size_t kMostRequest = std::size_t{20} << 10;  // with its head
  static constexpr std::size_t kMostBody = std::size_t{16} << 10;

  Server(Site site, Content content);
  /// Sends the state once more to each open page, which is then the last; waits up to 500 ms for
  /// the pages to take it.
  void finish();
  /// Ends the threads, within 100 ms or when they have made an answer.
  ~Server();

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace lw::web
