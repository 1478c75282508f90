// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "impair/control/listening_socket.h"
#include "impair/web/web_access.h"

namespace lw::impair {

/// Where the live page of a run is served, and its token.
struct WebSite {
  ListeningSocket socket;
  WebAddress address;  // with the port that the system chose where 0 was asked for
  std::string token;
  std::optional<std::string> token_file;

  /// "http://127.0.0.1:9092/#token=...": what a browser keeps to itself. A token of a file is not
  /// in it.
  [[nodiscard]] std::string url() const;
};

/// `address`: "[ADDRESS:]PORT". Errors: usage (another form; an address that other machines reach
/// without a token file; a token file that everybody may read), environment.
Result<WebSite> open_web_site(const std::string& address,
                              const std::optional<std::string>& token_file);

/// The page as it is sent.
std::string live_page(bool read_only);

}  // namespace lw::impair
