// SPDX-License-Identifier: BSD-3-Clause
#include "web/access.h"

#include <algorithm>
#include <array>
#include <unistd.h>

#include <fmt/format.h>

#include "core/token.h"

namespace lw::web {
namespace {

constexpr std::uint16_t kHttpPort = 80;  // which browsers leave out of Host and Origin

std::string name_of_machine() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

Result<Address> Address::of_page(const std::string& text, std::string_view option) {
  const bool is_port = text.find(':') == std::string::npos;
  const auto parts = net::split_address(is_port ? "127.0.0.1:" + text : text);
  const auto host = parts ? net::parse_host(parts->host) : std::nullopt;
  if (!host || !parts->port)
    return fail(
        fmt::format("{}: expected [ADDRESS:]PORT in numbers, \"9092\", "
                    "\"192.0.2.1:9092\" or \"[::1]:9092\", found \"{}\"",
                    option, text));
  return Address{.address = parts->host, .port = *parts->port, .host = *host};
}

Result<Address> Address::of_metrics(const std::string& text) {
  const auto parts = net::split_address(text);
  if (!parts || parts->host.empty() || !parts->port)
    return fail(
        fmt::format("--metrics: expected ADDRESS:PORT, \"127.0.0.1:9091\" or \"box.example:9091\", "
                    "found \"{}\"",
                    text));
  const auto found = net::SocketAddress::resolve(parts->host, *parts->port);
  if (!found)
    return fail(fmt::format("--metrics: {}", found.error().message), ExitCode::environment);
  const net::SocketAddress& first = found->front();
  return Address{.address = net::split_address(first.text())->host,
                 .port = *parts->port,
                 .host = first.host(),
                 .names = {parts->host, name_of_machine()}};
}

bool Access::is_our_host(std::string_view text) const {
  const auto given = net::split_address(text);
  if (!given || given->port.value_or(kHttpPort) != address_.port) return false;
  if (net::is_loopback(address_.host) && given->host == "localhost") return true;
  if (std::ranges::find(address_.names, given->host) != address_.names.end()) return true;
  // Another name could be anybody's; a number can't be made to point elsewhere.
  const auto host = net::parse_host(given->host);
  return host && (net::is_any(address_.host) || *host == address_.host);
}

std::optional<Access::Refusal> Access::refuse(Guard guard, const Headers& headers) const {
  // A browser sends Host always: only it can be sent here by the DNS of another page.
  const bool by_program = guard == Guard::scraper || guard == Guard::program;
  const bool host_is_right = (by_program && headers.host.empty()) || is_our_host(headers.host);
  if (!host_is_right)
    return Refusal{403,
                   fmt::format("Host: expected {}, the address that is served", address_.text())};
  if (guard == Guard::scraper || guard == Guard::page) return std::nullopt;
  if (guard == Guard::program && !headers.origin.empty())
    return Refusal{403, "Origin: expected none, as a page in a browser may not ask here"};
  if (guard == Guard::program && token_.empty()) return std::nullopt;
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view given = headers.authorization;
  if (!given.starts_with(kScheme) || !same_token(token_, given.substr(kScheme.size())))
    return Refusal{401,
                   guard == Guard::program
                       ? "wrong token: expected Authorization: Bearer TOKEN"
                       : "wrong token: open the address that the program printed at its start"};
  if (!headers.origin.empty() && headers.origin != "http://" + headers.host)
    return Refusal{403, "Origin: expected that of the page itself"};
  if (guard == Guard::change && headers.origin.empty())
    return Refusal{403, "Origin: expected that of the page, found none"};
  return std::nullopt;
}

}  // namespace lw::web
