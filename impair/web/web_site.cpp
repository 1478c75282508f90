// SPDX-License-Identifier: BSD-3-Clause
#include "impair/web/web_site.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include "core/token.h"
#include "report/html_page.h"

namespace lw::impair {

extern const report::HtmlPage kLivePage;  // live.html, made by embed.py

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

std::string WebSite::url() const {
  if (token_file)
    return fmt::format("http://{}/#token=... (the first line of {})", address.text(), *token_file);
  return fmt::format("http://{}/#token={}", address.text(), token);
}

Result<WebSite> open_web_site(const std::string& address,
                              const std::optional<std::string>& token_file) {
  auto where = WebAddress::parse(address);
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
  return WebSite{.socket = std::move(*socket),
                 .address = std::move(*where),
                 .token = std::move(*token),
                 .token_file = token_file};
}

std::string live_page(bool read_only) {
  return report::html_text(kLivePage, {{"program", "roce-impair"}, {"read_only", read_only}});
}

}  // namespace lw::impair
