// SPDX-License-Identifier: BSD-3-Clause
#include "web/site.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include "app/command_line.h"
#include "core/token.h"

namespace lw::web {

namespace {

/// Listens at the address, and learns the port that the system chose where 0 was asked for.
Result<Site> listen_at(Address address) {
  const auto where = net::SocketAddress::numeric(address.text());
  if (!where) return std::unexpected(where.error());
  auto socket = net::ListeningSocket::open(*where);
  if (!socket) return std::unexpected(socket.error());
  address.port = socket->port();
  return Site{.socket = std::move(*socket), .address = std::move(address)};
}

/// The token of a file that is not for everybody.
Result<std::string> token_of(const char* option, const std::string& file) {
  struct stat info{};
  if (stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & S_IROTH) != 0)
    return fail(fmt::format("{}: {}: every user can read it: chmod 600 {}", option, file, file));
  return read_token_file(option, file);
}

}  // namespace

std::string Site::url() const {
  if (token_file)
    return fmt::format("http://{}/#token=... (the first line of {})", address.text(), *token_file);
  return fmt::format("http://{}/#token={}", address.text(), token);
}

void add_options(app::Options& list, SiteOptions& options) {
  list.add("--web", app::text(options.address), "[ADDRESS:]PORT",
           "serve a live page, at 127.0.0.1 unless an address is given; its URL with a token is "
           "printed at the start");
  list.add(
          "--web-token-file", app::text(options.token_file), "FILE",
          "file whose first line is the token of the live page; required for an address that other "
          "machines reach")
      .defaults_to("a new token");
}

Result<Site> open_site(const SiteOptions& options) {
  auto where = Address::of_page(*options.address);
  if (!where) return std::unexpected(where.error());
  if (!net::is_loopback(where->host) && !options.token_file)
    return fail(fmt::format(
        "--web: other machines reach {}: expected --web-token-file FILE, whose first line is the "
        "token of the page",
        where->address));
  constexpr const char* kOption = "--web-token-file";
  auto token = options.token_file ? token_of(kOption, *options.token_file) : make_token(kOption);
  if (!token) return std::unexpected(token.error());
  auto site = listen_at(std::move(*where));
  if (!site) return site;
  site->token = std::move(*token);
  site->token_file = options.token_file;
  return site;
}

Result<Site> open_program_site(const std::string& address,
                               const std::optional<std::string>& token_file) {
  auto where = Address::of_page(address, "--listen");
  if (!where) return std::unexpected(where.error());
  if (!net::is_loopback(where->host) && !token_file)
    return fail(fmt::format(
        "--listen: other machines reach {}: expected --token-file FILE, whose first line is the "
        "token that requests must have",
        where->address));
  auto token = token_file ? token_of("--token-file", *token_file) : Result<std::string>("");
  if (!token) return std::unexpected(token.error());
  auto site = listen_at(std::move(*where));
  if (!site) return site;
  site->token = std::move(*token);
  site->token_file = token_file;
  return site;
}

Result<Site> open_metrics_site(const std::string& address) {
  auto where = Address::of_metrics(address);
  if (!where) return std::unexpected(where.error());
  return listen_at(std::move(*where));
}

}  // namespace lw::web
