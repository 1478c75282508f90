// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "impair/control/listening_socket.h"
#include "impair/control/request_server.h"
#include "impair/web/web_access.h"

namespace lw::impair {

/// Serves the live page by HTTP, on threads of its own: one accepts, and each connection has one
/// until it ends.
///
///   GET /        the page, without data
///   GET /events  by token: {"do":"show"} twice a second, as Server-Sent Events
///   POST /do     by token and Origin: a request of `roce-impair ctl`, and its answer
///
/// Bounds: 32 connections, 8 of them /events; a request has 20 KiB at most and comes within 10 s;
/// a client that takes nothing for 5 s is disconnected. None of them delays another one.
class WebServer {
 public:
  static constexpr std::size_t kMostConnections = 32, kMostStreams = 8;
  static constexpr std::size_t kMostRequest = std::size_t{20} << 10;  // with its head
  static constexpr std::size_t kMostBody = std::size_t{16} << 10;

  /// Called on several threads at a time.
  using Answer = std::function<SharedText(std::string_view request)>;

  WebServer(ListeningSocket socket, WebAccess access, std::string page, Answer answer);
  /// Ends the threads, within 100 ms or when they have made an answer.
  ~WebServer();

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace lw::impair
