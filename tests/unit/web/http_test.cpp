// SPDX-License-Identifier: BSD-3-Clause
#include "web/http.h"

#include <new>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "web/server.h"

namespace lw::web {
namespace http_test {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kHost = "Host: 127.0.0.1:9092\r\n";
constexpr std::string_view kRights =
    "Host: 127.0.0.1:9092\r\nOrigin: http://127.0.0.1:9092\r\n"
    "Authorization: Bearer 0123456789abcdef\r\nContent-Type: application/json\r\n";

/// A live page whose text is 100,000 bytes, and which answers a change with its text.
class Page : public testing::Test {
 protected:
  net::Protocol::Answer ask(std::string_view text) const {
    const auto length = http_.length(text);
    EXPECT_TRUE(length) << text;
    return http_.answer(text.substr(0, length.value_or(0)), "192.0.2.1:40123");
  }
  std::string get(std::string_view path, std::string_view headers) const {
    return *ask(fmt::format("GET {} HTTP/1.1\r\n{}\r\n", path, headers)).text;
  }
  std::string post(std::string_view body, std::string_view headers) const {
    return *ask(fmt::format("POST /do HTTP/1.1\r\n{}\r\n{}", headers, body)).text;
  }
  std::string change(std::string_view body) const {
    return post(body, fmt::format("{}Content-Length: {}\r\n", kRights, body.size()));
  }

  Http http_{Access(Address::of_page("9092").value(), "0123456789abcdef"),
             routes_of({.page = std::string(100'000, 'p'),
                        .state = [] { return shared("{}\n"); },
                        .answer = [](std::string_view body, const std::string& peer) -> SharedText {
                          if (body == "large") throw std::bad_alloc();
                          return shared(fmt::format("<{}> of {}", body, peer));
                        }})};
};

TEST_F(Page, IsAnsweredByItsRoutes) {
  const std::string page = get("/", kHost);
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Length: 100000\r\n"));
  EXPECT_THAT(get("/?x=1&y", kHost), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/favicon.ico", kHost), StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(get("/x", kHost), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get("/../do", kHost), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get("/do", kRights), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(get("/", "Host: evil.example:9092\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(change("one"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(change("one"), testing::EndsWith("\r\n\r\n<one> of 192.0.2.1:40123"));
  EXPECT_THAT(change("large"), StartsWith("HTTP/1.1 503"));
}

TEST_F(Page, IgnoresHeadersThatMakeAnAnswerLarger) {
  const std::string plain = get("/", kHost);
  std::string many = "bytes=0-";
  for (int i = 0; i < 2600; ++i) many += ",0-";
  for (const std::string header :
       {"Range: bytes=0-9", "Range: bytes=0-,0-,0-", "range: bytes=-1", "RANGE : bytes=0-0,1-1",
        "If-Range: \"x\"", "Accept-Encoding: gzip, br", "Expect: 100-continue", "TE: trailers",
        "Connection: Keep-Alive", "REMOTE_ADDR: 192.0.2.1", "Range: what", many.c_str()}) {
    EXPECT_EQ(get("/", fmt::format("{}{}\r\n", kHost, header)), plain) << header;
    EXPECT_EQ(get("/", fmt::format("{}\r\n{}", header, kHost)), plain) << header;
  }
}

TEST_F(Page, RefusesControlCharactersInAHead) {
  for (const std::string& head :
       {std::string("X: 1\nRange: bytes=0-9\r\n"), std::string("X: \0\r\n", 6),
        std::string("X: 1\rY: 2\r\n"), std::string("\x7f: 1\r\n")})
    EXPECT_THAT(get("/", fmt::format("{}{}", kHost, head)), StartsWith("HTTP/1.1 400")) << head;
}

TEST_F(Page, RefusesTwoOfAHeaderAndNoHost) {
  for (const std::string_view second : {"Host: evil.example", "host: 127.0.0.1:9092"})
    for (const std::string& head :
         {fmt::format("{}{}\r\n", kHost, second), fmt::format("{}\r\n{}", second, kHost)})
      EXPECT_THAT(get("/", head), testing::AllOf(StartsWith("HTTP/1.1 400"),
                                                 HasSubstr("expected one Host, found two")));
  EXPECT_THAT(post("one", fmt::format("{}Content-Length: 3\r\ncontent-length: 3\r\n", kRights)),
              HasSubstr("expected one Content-Length, found two"));
  EXPECT_THAT(get("/", fmt::format("{}Authorization: Bearer x\r\n", kRights)),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(get("/", "X: 1\r\n"), HasSubstr("expected a Host, found none"));
  EXPECT_THAT(get("/", "Host: 127.0.0.1%3a9092\r\n"), StartsWith("HTTP/1.1 403"));
}

TEST_F(Page, ReadsABodyOfTheStatedLengthOnly) {
  const auto with = [&](std::string_view header) {
    return post("one", fmt::format("{}{}\r\n", kRights, header));
  };
  EXPECT_THAT(with("X: 1"), StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(with("Transfer-Encoding: chunked"), StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(with("Content-Length: 3\r\nContent-Encoding: gzip"), StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(with("Content-Length: -1"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(with("Content-Length: 99999999999999999999"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(change(std::string(net::kMostBody, 'x')), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(change(std::string(net::kMostBody + 1, 'x')), StartsWith("HTTP/1.1 413"));
  std::string form(kRights);
  form.replace(form.find("application/json"), 16, "multipart/form-data; boundary=x");
  EXPECT_THAT(post("one", form + "Content-Length: 3\r\n"), StartsWith("HTTP/1.1 415"));
}

TEST_F(Page, HasEventsForTheToken) {
  const auto stream = ask(fmt::format("GET /events HTTP/1.1\r\n{}\r\n", kRights));
  EXPECT_TRUE(stream.is_stream);
  EXPECT_THAT(*stream.text, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(*stream.text, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(*stream.text, testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(*stream.text, Not(HasSubstr("Content-Length")));
  EXPECT_EQ(*http_.event(), "data: {}\n\n\n");
  const auto refused = ask(fmt::format("GET /events HTTP/1.1\r\n{}\r\n", kHost));
  EXPECT_FALSE(refused.is_stream);
  EXPECT_THAT(*refused.text, StartsWith("HTTP/1.1 401"));
}

TEST(HttpLength, IsThatOfTheHeadAndTheStatedBody) {
  const Http http(Access(Address::of_page("9092").value(), ""), {});
  constexpr std::string_view kHead = "POST /do HTTP/1.1\r\ncontent-length: 5\r\n\r\n";
  EXPECT_FALSE(http.length(""));
  for (std::size_t cut = 1; cut < kHead.size(); ++cut)
    EXPECT_FALSE(http.length(kHead.substr(0, cut)));
  EXPECT_FALSE(http.length(std::string(kHead) + "1234"));
  EXPECT_EQ(http.length(std::string(kHead) + "12345"), kHead.size() + 5);
  EXPECT_EQ(http.length(std::string(kHead) + "123456"), kHead.size() + 5);
  EXPECT_EQ(http.length("GET / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n"), 41U);
  EXPECT_EQ(http.length("\r\n\r\n"), 4U);
  const Http large(Access(Address::of_page("9092").value(), ""), {}, {.most_body = 100'000});
  EXPECT_FALSE(large.length("GET / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n"));
}

}  // namespace http_test
}  // namespace lw::web
