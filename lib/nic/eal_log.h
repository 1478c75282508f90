// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

namespace lw::nic {

/// Catches what DPDK says, so that a person sees it only when it matters: kept (the last 16 KiB)
/// for error messages, and passed on to stderr when asked.
class EalLog {
 public:
  /// From now on DPDK's log goes to the process's one EalLog. It lives to the process's end, as
  /// DPDK's interrupt thread does, which may speak at any time.
  static EalLog& open(bool pass_on);
  EalLog(const EalLog&) = delete;
  EalLog& operator=(const EalLog&) = delete;

  /// Forgets what was said so far: the next error message shows only what follows.
  void forget();
  /// What was said since, each line indented; empty when nothing was.
  [[nodiscard]] std::string said() const;

 private:
  EalLog() = default;
  static ssize_t write(void* cookie, const char* data, std::size_t size);

  static constexpr std::size_t kKept = 16 * 1024;
  bool pass_on_ = false;
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace lw::nic
