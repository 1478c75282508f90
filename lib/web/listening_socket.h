// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <sys/un.h>

#include "core/error.h"

namespace lw::web {

/// The address of a Unix socket. Error (usage): a path that the system's address has no room for.
Result<sockaddr_un> unix_address(const std::string& path);

/// A listening socket that does not block, closed with it; a Unix socket's file goes with it too.
class ListeningSocket {
 public:
  /// A Unix socket that its owner alone may use. A file that is there already is taken over only
  /// where it is a socket that nobody listens at. Errors: environment, usage (a path too long).
  static Result<ListeningSocket> unix_socket(const std::string& path);
  /// "127.0.0.1:9091", "[::1]:9091". Errors: usage, environment.
  static Result<ListeningSocket> tcp(const std::string& address);

  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&&) = delete;
  ~ListeningSocket();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The port that the system chose where ":0" was asked for.
  [[nodiscard]] std::uint16_t port() const noexcept;

 private:
  ListeningSocket(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_;
  std::string path_;
};

}  // namespace lw::web
