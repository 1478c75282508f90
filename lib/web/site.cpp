// SPDX-License-Identifier: BSD-3-Clause
#include "web/site.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include "app/command_line.h"
#include "core/token.h"

namespace lw::web {

namespace {

/// The token of a file that is not for everybody.
Result<std::string> token_of(const std::string& file) {
  struct stat info{};
  if (stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & S_IROTH) != 0)
    return fail(
        fmt::format("--web-token-file: {}: every user can read it: chmod 600 {}", file, file));
  return read_token_file("--web-token-file", file);
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
  const auto& token_file = options.token_file;
  auto where = Address::parse(*options.address);
  if (!where) return std::unexpected(where.error());
  if (!where->loopback && !token_file)
    return fail(fmt::format(
        "--web: other machines reach {}: expected --web-token-file FILE, whose first line is the "
        "token of the page",
        where->address));
  auto token = token_file ? token_of(*token_file) : make_token("--web-token-file");
  if (!token) return std::unexpected(token.error());
  auto socket = ListeningSocket::tcp(where->text());
  if (!socket) return std::unexpected(socket.error());
  where->port = socket->port();
  return Site{.socket = std::move(*socket),
              .address = std::move(*where),
              .token = std::move(*token),
              .token_file = token_file};
}

}  // namespace lw::web
