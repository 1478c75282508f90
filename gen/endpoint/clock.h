// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

#include "core/time.h"

namespace lw::gen::endpoint {

/// Returns the time of the steady clock. All times of a run are from it.
inline Instant time_now() noexcept {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace lw::gen::endpoint
