// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/time.h"
#include "gen/limits.h"
#include "net/line_listener.h"
#include "wire/address.h"

namespace lw::gen {

// Passes the sender's final report to the receiver. The place is a file, a UNIX socket
// (`unix:PATH`) or a TCP address (`tcp:HOST:PORT`). The receiver is the socket's server.

/// Returns the file that a place names; empty for a socket.
std::string report_file(const std::string& place);

/// Sends `report` to `place`; tries for up to 5 s to connect to a socket. Errors (environment) name
/// the place.
Result<void> deliver_report(const std::string& place, std::string_view report);

/// The receiver's end. The file of a UNIX socket, which only its owner may use, is removed with it.
class ReportInbox {
 public:
  /// Which reports are taken.
  struct Accepted {
    std::size_t flows;                   // of the profile: they bound the report's length
    std::vector<wire::IpAddress> hosts;  // of TCP; empty: any
  };

  /// Opens a socket, so that a sender may connect at any time. A file is not touched. Errors
  /// (usage): not an address; (environment): the socket cannot be opened.
  static Result<ReportInbox> open(const std::string& place, Accepted accepted);

  /// Waits up to `timeout` for the report, or until `stop`, and returns its line. Errors
  /// (environment): no report arrived; (usage): the file is too long.
  Result<std::string> wait_for_report(Duration timeout, const std::atomic<bool>& stop);

 private:
  ReportInbox(std::string place, Accepted accepted)
      : place_(std::move(place)), accepted_(std::move(accepted)) {}
  [[nodiscard]] std::size_t longest() const noexcept {
    return kMostReport + accepted_.flows * kMostReportOfFlow;
  }
  Result<std::string> read_report_file() const;
  std::optional<std::string> receive(Duration timeout);

  std::string place_;
  Accepted accepted_;
  std::optional<net::LineListener> listener_;  // none: the place is a file
  std::string refused_;                        // the last refusal; empty: none
};

}  // namespace lw::gen
