// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/time.h"

namespace lw::gen {

/// What ends a run before its flows do.
struct Limits {
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t count = kAll;               // frames of the whole run
  std::optional<Duration> duration;         // frames due later are not sent
  const std::atomic<bool>* stop = nullptr;  // somebody asked (a signal); may be null

  [[nodiscard]] bool stopped() const noexcept {
    return stop != nullptr && stop->load(std::memory_order_relaxed);
  }
};

}  // namespace lw::gen
