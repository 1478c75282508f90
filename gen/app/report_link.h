// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/time.h"

namespace lw::gen {

// Passes the sender's final report to the receiver. The place is a file, a UNIX socket
// (`unix:PATH`) or a TCP address (`tcp:HOST:PORT`). The receiver is the socket's server.

/// Returns the file that a place names; empty for a socket.
std::string report_file(const std::string& place);

/// Sends `report` to `place`; tries for up to 5 s to connect to a socket. Errors (environment) name
/// the place.
Result<void> deliver_report(const std::string& place, std::string_view report);

/// The receiver's end. Move-only. The destructor removes the file of a UNIX socket.
class ReportInbox {
 public:
  /// Opens a socket, so that a sender may connect at any time. A file is not touched. Errors
  /// (usage): not an address; (environment): the socket cannot be opened.
  static Result<ReportInbox> open(const std::string& place);

  ReportInbox(ReportInbox&& other) noexcept;
  ReportInbox& operator=(ReportInbox&&) = delete;
  ~ReportInbox();

  /// Waits up to `timeout` for the report, or until `stop`, and returns its text. Errors
  /// (environment): no report arrived.
  Result<std::string> take(Duration timeout, const std::atomic<bool>* stop);

 private:
  ReportInbox(std::string place, int socket, std::string path)
      : place_(std::move(place)), socket_(socket), path_(std::move(path)) {}

  std::string place_;
  int socket_;        // -1: a file
  std::string path_;  // of a UNIX socket
};

}  // namespace lw::gen
