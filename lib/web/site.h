// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "net/socket.h"
#include "web/access.h"

namespace lw::app {
class Options;
}

namespace lw::web {

/// The options of a live page.
struct SiteOptions {
  std::optional<std::string> address;     // "[ADDRESS:]PORT"; none: there is no page
  std::optional<std::string> token_file;  // whose first line is the page's token; none: a new one
};

/// --web and --web-token-file.
void add_options(app::Options& list, SiteOptions& options);

/// Where HTTP is served, and the token of what needs one.
struct Site {
  net::ListeningSocket socket;
  Address address;  // with the port that the system chose where 0 was asked for
  std::string token = {};
  std::optional<std::string> token_file = {};

  /// "http://127.0.0.1:9092/#token=...": what a browser keeps to itself. A token of a file is not
  /// in it.
  [[nodiscard]] std::string url() const;
};

/// Requires an address. Errors: usage (an address in another form, or one that other machines reach
/// without a token file; a token file that everybody may read), environment.
Result<Site> open_site(const SiteOptions& options);
/// Opens the site of programs (Guard::program): --listen and --token-file. At an address of this
/// machine alone it needs no token. Errors: as open_site().
Result<Site> open_program_site(const std::string& address,
                               const std::optional<std::string>& token_file);
/// Opens the site of metrics, which has no token. Errors: those of Address::of_metrics(); the
/// address can't be listened at (environment).
Result<Site> open_metrics_site(const std::string& address);

}  // namespace lw::web
