// SPDX-License-Identifier: BSD-3-Clause
#include "web/server.h"

#include <utility>

#include <fmt/format.h>

namespace lw::web {
namespace {

net::Protocol protocol_of(const Http& http, std::size_t threads) {
  const std::size_t longest = http.policy().most_body + net::kMostHttpRequest - net::kMostBody;
  return {
      .longest = longest,
      .length = [&http](std::string_view received) { return http.length(received); },
      .answer = [&http](std::string_view request,
                        const std::string& peer) { return http.answer(request, peer); },
      .too_long =
          shared(http.refusal("431 Request Header Fields Too Large",
                              fmt::format("expected a request of at most {} bytes", longest))),
      .too_many_streams = shared(http.refusal(
          "503 Service Unavailable", fmt::format("{} pages are open already", net::kMostStreams))),
      .event = [&http] { return http.event(); },
      .threads = threads};
}

}  // namespace

std::vector<Route> routes_of(Content content) {
  const auto page = shared(std::move(content.page));
  std::vector<Route> routes = {{.path = "/",
                                .type = "text/html; charset=utf-8",
                                .answer = [page](auto, const auto&) { return page; }},
                               {.path = "/favicon.ico", .type = ""},
                               {.path = "/events",
                                .guard = Guard::token,
                                .kind = Route::Kind::events,
                                .type = "text/event-stream",
                                .answer = [state = std::move(content.state)](auto, const auto&) {
                                  return shared(fmt::format("data: {}\n\n", *state()));
                                }}};
  if (content.answer)
    routes.push_back({.path = "/do",
                      .guard = Guard::change,
                      .kind = Route::Kind::post,
                      .type = "application/json",
                      .answer = std::move(content.answer)});
  return routes;
}

Server::Server(Site site, std::vector<Route> routes, std::size_t threads, Policy policy)
    : http_(Access(std::move(site.address), std::move(site.token)), std::move(routes),
            std::move(policy)),
      server_(std::move(site.socket), protocol_of(http_, threads)) {}

}  // namespace lw::web
