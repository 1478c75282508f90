// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace lw::nic {

/// For ThreadSanitizer only: a buffer that one thread gives back to its pool may come to another
/// thread with a received frame. DPDK's pools order the two by a lock of their own, but DPDK isn't
/// instrumented, so the sanitizer would report what both write into the buffer as a race.
struct PoolOrder {
  /// Before buffers go to DPDK: to be sent, or freed.
  static void release() noexcept {
#ifdef __SANITIZE_THREAD__
    __tsan_release(&pools);
#endif
  }
  /// After buffers have come from DPDK.
  static void acquire() noexcept {
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(&pools);
#endif
  }

 private:
  static inline char pools = 0;  // an address that stands for all pools
};

}  // namespace lw::nic
