// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as what a client sends to a live page: the same functions as for a connection find the
// request and answer it. An answer is HTTP, is bounded, and has the page's data only by its token.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "web/server.h"

namespace {

using lw::web::Http;

constexpr std::string_view kSecret = "what only the token shows";
constexpr const char* kToken = "0123456789abcdef";

const Http& page() {
  static const Http http(
      lw::web::Access(lw::web::Address::of_page("9092").value(), kToken),
      lw::web::routes_of({.page = std::string(1000, 'p'),
                          .state = [] { return lw::net::shared(std::string(kSecret) + "\n"); },
                          .answer =
                              [](std::string_view body, const std::string& /*peer*/) {
                                if (body.size() > lw::net::kMostBody) std::abort();
                                return lw::net::shared(std::string(kSecret));
                              }}));
  return http;
}

const Http& metrics() {
  static const Http http(
      lw::web::Access(lw::web::Address::of_metrics("127.0.0.1:9091").value(), ""),
      {{.path = "/metrics",
        .guard = lw::web::Guard::scraper,
        .type = "text/plain",
        .answer = [](auto, const auto&) { return lw::net::shared("one 1\n"); }}});
  return http;
}

void check(const Http& http, std::string_view request) {
  constexpr std::size_t kFixed = 2000;  // the page, and its headers
  const auto answer = http.answer(request, "192.0.2.1:1");
  if (!answer.text->starts_with("HTTP/1.1 ") || answer.text->size() > request.size() + kFixed)
    std::abort();
  const bool shown = answer.is_stream || answer.text->find(kSecret) != std::string::npos;
  if (shown && request.find(kToken) == std::string_view::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view received(reinterpret_cast<const char*>(data), size);
  const auto length = page().length(received);
  if (!length) return 0;  // more has to come
  if (*length > size) std::abort();
  check(page(), received.substr(0, *length));
  check(metrics(), received.substr(0, *length));
  return 0;
}
