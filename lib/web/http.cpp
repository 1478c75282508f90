// SPDX-License-Identifier: BSD-3-Clause
#include "web/http.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <httplib.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "net/limits.h"
#include "report/json_line.h"

namespace lw::web {
namespace {

constexpr const char* kJson = "application/json";
constexpr std::string_view kLineEnd = "\r\n", kHeadEnd = "\r\n\r\n";

/// The headers that httplib sees; Host is the first.
constexpr std::string_view kHeaders[] = {
    "Host",         "Origin",           "Authorization",    "Content-Length",
    "Content-Type", "Content-Encoding", "Transfer-Encoding"};

bool same_name(std::string_view one, std::string_view other) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
  return std::ranges::equal(one, other, {}, lower, lower);
}

/// Calls visit(name, value) for each header of a head. Lines without a colon are none.
template <class Visit>
void for_each_header(std::string_view head, Visit visit) {
  while (true) {
    const auto end = head.find(kLineEnd);
    if (end == std::string_view::npos) return;
    head.remove_prefix(end + kLineEnd.size());
    const std::string_view line = head.substr(0, head.find(kLineEnd));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto value = line.find_first_not_of(" \t", colon + 1);
    visit(line.substr(0, colon), value == std::string_view::npos ? "" : line.substr(value));
  }
}

/// Returns the length of the body; nothing if the head states none, or not in digits.
std::optional<std::size_t> body_length(std::string_view head) {
  std::optional<std::string_view> text;
  for_each_header(head, [&](std::string_view name, std::string_view value) {
    if (!text && same_name(name, "Content-Length")) text = value;
  });
  std::size_t length = 0;
  if (!text || text->empty()) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return length;
}

/// Returns true if a head has a control character, at which httplib could end a line.
bool has_control(std::string_view head) noexcept {
  for (std::size_t i = 0; i < head.size(); ++i) {
    const auto byte = static_cast<unsigned char>(head[i]);
    if (head.substr(i).starts_with(kLineEnd)) {
      ++i;
    } else if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
      return true;
    }
  }
  return false;
}

/// Returns what is wrong with the headers that httplib sees; empty: nothing. Of a header that is
/// there twice, another reader may take the other value. (RFC 9112, 3.2 and 6.3)
std::string wrong_headers(std::string_view head) {
  std::array<bool, std::size(kHeaders)> seen{};
  std::string wrong;
  for_each_header(head, [&](std::string_view name, std::string_view) {
    for (std::size_t i = 0; i < std::size(kHeaders); ++i)
      if (same_name(kHeaders[i], name) && std::exchange(seen[i], true))
        wrong = fmt::format("expected one {}, found two", kHeaders[i]);
  });
  const bool needs_host = head.substr(0, head.find(kLineEnd)).ends_with(" HTTP/1.1");
  if (needs_host && !seen[0] && wrong.empty()) return "expected a Host, found none";
  return wrong;
}

/// Returns the first line of a head without the query.
std::string request_line(std::string_view head) {
  const std::string_view line = head.substr(0, head.find(kLineEnd));
  const auto query = line.find('?');
  if (query == std::string_view::npos) return std::string(line);
  const auto version = line.find(' ', query);
  return std::string(line.substr(0, query)) +
         std::string(version == std::string_view::npos ? "" : line.substr(version));
}

/// Returns the headers of a head that are in kHeaders.
std::string known_headers(std::string_view head) {
  std::string known;
  for_each_header(head, [&](std::string_view name, std::string_view value) {
    const auto place = std::ranges::find_if(
        kHeaders, [&](std::string_view header) { return same_name(header, name); });
    if (place == std::end(kHeaders)) return;
    known.append(*place).append(": ");
    // httplib decodes the values of headers as if they were URLs.
    for (const char c : value) known += c == '%' ? "%25" : std::string(1, c);
    known += kLineEnd;
  });
  return known;
}

/// A request in memory, and its answer.
class TextStream final : public httplib::Stream {
 public:
  TextStream(std::string_view request, const std::string& peer) : request_(request), peer_(peer) {}

  [[nodiscard]] bool is_readable() const override { return true; }
  [[nodiscard]] bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t count = request_.copy(to, size);
    request_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, std::size_t size) override {
    answer_.append(from, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& peer, int&) const override { peer = peer_; }
  void get_local_ip_and_port(std::string&, int&) const override {}
  [[nodiscard]] socket_t socket() const override { return INVALID_SOCKET; }

  std::string take_answer() { return std::move(answer_); }

 private:
  std::string_view request_;
  const std::string& peer_;
  std::string answer_;
};

Access::Headers headers_of(const httplib::Request& request) {
  return {.host = request.get_header_value("Host"),
          .origin = request.get_header_value("Origin"),
          .authorization = request.get_header_value("Authorization")};
}

/// A type of bodies besides JSON; null for another type.
const BodyType* body_type(const Policy& policy, const std::string& type) {
  const auto found = std::ranges::find(policy.more_types, type, &BodyType::type);
  return found == policy.more_types.end() ? nullptr : &*found;
}

/// Returns nothing for a body that httplib reads within our bounds: of a stated length, of a type
/// that the policy has, not packed.
std::optional<Access::Refusal> refuse_body(const httplib::Request& request, const Policy& policy) {
  const std::string length = request.get_header_value("Content-Length");
  if (request.has_header("Transfer-Encoding") || request.has_header("Content-Encoding") ||
      length.empty())
    return Access::Refusal{411, "expected a body with a Content-Length, as it is"};
  const auto bytes = body_length(fmt::format("\r\nContent-Length: {}", length));
  if (!bytes) return Access::Refusal{400, "Content-Length: expected a number"};
  if (*bytes > policy.most_body)
    return Access::Refusal{413, fmt::format("expected a body of at most {} bytes, found {}",
                                            policy.most_body, *bytes)};
  const std::string type = request.get_header_value("Content-Type");
  if (type == kJson || body_type(policy, type) != nullptr) return std::nullopt;
  std::string expected = "expected Content-Type: application/json";
  for (const BodyType& more : policy.more_types) expected += ", " + more.type;
  return Access::Refusal{415, expected};
}

std::string refusal_json(const Policy& policy, int status, const std::string& reason) {
  if (policy.refusal) return policy.refusal(status, reason);
  return report::json_line(report::Json{{"ok", false}, {"error", reason}});
}

constexpr const char* method_of(Route::Kind kind) noexcept {
  return kind == Route::Kind::post ? "POST" : kind == Route::Kind::patch ? "PATCH" : "GET";
}

bool has_body(Route::Kind kind) noexcept {
  return kind == Route::Kind::post || kind == Route::Kind::patch;
}

}  // namespace

/// httplib's router, which gets texts instead of sockets.
class Http::Router : private httplib::Server {
 public:
  Router(Access access, std::vector<Route> routes, const Policy& policy)
      : policy_(policy), access_(std::move(access)), routes_(std::move(routes)) {
    set_policies();
    for (const Route& route : routes_) add(route);
  }

  std::string answer(std::string_view request, const std::string& peer) {
    TextStream stream(request, peer);
    bool closed = false;
    process_request(stream, true, closed, nullptr);
    return stream.take_answer();
  }
  [[nodiscard]] const Route* events() const {
    const auto found = std::ranges::find(routes_, Route::Kind::events, &Route::kind);
    return found == routes_.end() ? nullptr : &*found;
  }

 private:
  void set_policies();
  void add(const Route& route);
  [[nodiscard]] std::optional<Access::Refusal> refusal_of(const httplib::Request& request) const;
  [[nodiscard]] std::string paths() const;
  [[nodiscard]] Access::Refusal refusal_of_method(const std::string& path) const;

  const Policy& policy_;
  Access access_;
  std::vector<Route> routes_;
};

void Http::Router::set_policies() {
  set_payload_max_length(policy_.most_body);
  // A page's own policy is in it; a header can't be left out where it is framed.
  set_default_headers({{"Content-Security-Policy", "frame-ancestors 'none'"},
                       {"X-Content-Type-Options", "nosniff"},
                       {"X-Frame-Options", "DENY"},
                       {"Referrer-Policy", "no-referrer"},
                       {"Cross-Origin-Resource-Policy", "same-origin"},
                       {"Cross-Origin-Opener-Policy", "same-origin"},
                       {"Cache-Control", "no-store"}});
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    const auto refusal = refusal_of(request);
    if (!refusal) return HandlerResponse::Unhandled;
    response.status = refusal->status;
    response.set_content(refusal_json(policy_, refusal->status, refusal->reason), kJson);
    return HandlerResponse::Handled;
  });
  set_exception_handler(
      [this](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
        response.status = 503;
        response.set_content(
            refusal_json(policy_, response.status, "the program has too little memory to answer"),
            kJson);
      });
}

void Http::Router::add(const Route& route) {
  const auto answer = [this, &route](const httplib::Request& request, httplib::Response& response) {
    // Of events, this is the head: the server sends them.
    if (route.kind == Route::Kind::events)
      return response.set_content_provider(route.type, [](std::size_t, httplib::DataSink& sink) {
        sink.done();
        return true;
      });
    const BodyType* type = body_type(policy_, request.get_header_value("Content-Type"));
    const auto body = type != nullptr && has_body(route.kind) ? type->to_json(request.body)
                                                              : Result<std::string>(request.body);
    if (!body) {
      response.status = 400;
      return response.set_content(refusal_json(policy_, 400, body.error().message), kJson);
    }
    if (route.reply) {
      const HttpReply reply = route.reply(*body, request.remote_addr);
      response.status = reply.status;
      return response.set_content(*reply.text, reply.type);
    }
    if (!route.answer) return void(response.status = 204);
    const SharedText text = route.answer(*body, request.remote_addr);
    response.set_content(*text, route.type);
  };
  if (route.kind == Route::Kind::post) {
    Post(route.path, answer);
  } else if (route.kind == Route::Kind::patch) {
    Patch(route.path, answer);
  } else {
    Get(route.path, answer);
  }
}

std::optional<Access::Refusal> Http::Router::refusal_of(const httplib::Request& request) const {
  if (std::ranges::find(routes_, request.path, &Route::path) == routes_.end())
    return Access::Refusal{404, "expected " + paths()};
  const auto route = std::ranges::find_if(routes_, [&](const Route& each) {
    return each.path == request.path && request.method == method_of(each.kind);
  });
  if (route == routes_.end()) return refusal_of_method(request.path);
  if (auto refusal = access_.refuse(route->guard, headers_of(request))) return refusal;
  return has_body(route->kind) ? refuse_body(request, policy_) : std::nullopt;
}

Access::Refusal Http::Router::refusal_of_method(const std::string& path) const {
  std::vector<std::string_view> methods;
  for (const Route& route : routes_)
    if (route.path == path) methods.push_back(method_of(route.kind));
  return {405, fmt::format("expected {}", fmt::join(methods, " or "))};
}

std::string Http::Router::paths() const {
  std::vector<std::string_view> paths;
  for (const Route& route : routes_)
    if (std::ranges::find(paths, route.path) == paths.end()) paths.push_back(route.path);
  return fmt::format("{}", fmt::join(paths, ", "));
}

Http::Http(Access access, std::vector<Route> routes, Policy policy)
    : policy_(std::move(policy)),
      router_(std::make_unique<Router>(std::move(access), std::move(routes), policy_)) {}

Http::~Http() = default;

std::optional<std::size_t> Http::length(std::string_view received) const {
  const auto end = received.find(kHeadEnd);
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t head = end + kHeadEnd.size();
  const std::size_t body = body_length(received.substr(0, end)).value_or(0);
  if (body > policy_.most_body) return head;
  return received.size() < head + body ? std::nullopt : std::optional(head + body);
}

net::Protocol::Answer Http::answer(std::string_view request, const std::string& peer) const {
  const auto end = request.find(kHeadEnd);
  if (end == std::string_view::npos || has_control(request.substr(0, end)))
    return {shared(refusal("400 Bad Request", "expected a head without control characters"))};
  const std::string_view head = request.substr(0, end);
  if (const std::string wrong = wrong_headers(head); !wrong.empty())
    return {shared(refusal("400 Bad Request", wrong))};
  const std::string line = request_line(head);
  std::string text =
      router_->answer(line + std::string(kLineEnd) + known_headers(head) + std::string(kLineEnd) +
                          std::string(request.substr(end + kHeadEnd.size())),
                      peer);
  const Route* events = router_->events();
  const bool is_stream = events != nullptr && text.starts_with("HTTP/1.1 200 ") &&
                         line.starts_with(fmt::format("GET {} ", events->path));
  return {shared(std::move(text)), is_stream};
}

SharedText Http::event() const { return router_->events()->answer({}, {}); }

std::string Http::refusal(std::string_view status, const std::string& reason) const {
  int code = 0;
  std::from_chars(status.data(), status.data() + status.size(), code);
  const std::string body = refusal_json(policy_, code, reason);
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, kJson, body.size(), body);
}

}  // namespace lw::web
