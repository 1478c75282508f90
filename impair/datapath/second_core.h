// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <sched.h>

#include <rte_lcore.h>

namespace lw::impair {

/// Makes the calling thread one of DPDK's, with a cache of free buffers of its own, and pins it if
/// a core is given.
class SecondCore {
 public:
  explicit SecondCore(std::optional<int> core) noexcept : registered_(rte_thread_register() == 0) {
    if (!core) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(*core), &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  SecondCore(const SecondCore&) = delete;
  SecondCore& operator=(const SecondCore&) = delete;
  ~SecondCore() {
    if (registered_) rte_thread_unregister();
  }

 private:
  bool registered_;
};

}  // namespace lw::impair
