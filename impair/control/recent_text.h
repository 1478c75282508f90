// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "net/request_server.h"

namespace lw::impair {

using net::SharedText;

/// Caches a text that takes time of the forwarding loop to make. It is made again if it is older
/// than 20 ms, so at most 50 times per second for any number of clients. One thread.
class RecentText {
 public:
  /// Returns the cached text, or the result of `make` if that is too old.
  SharedText get(const std::function<std::string()>& make);
  /// Empties the cache.
  void forget() noexcept { text_ = nullptr; }

 private:
  SharedText text_;
  std::chrono::steady_clock::time_point made_;
};

}  // namespace lw::impair
