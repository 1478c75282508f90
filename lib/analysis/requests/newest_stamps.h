// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "analysis/packet.h"

namespace lw::analysis {

/// Stamps of the newest kMost packets of a kind.
class NewestStamps {
 public:
  static constexpr std::size_t kMost = 16;

  void add(Instant stamp) noexcept { stamps_[count_++ % kMost] = stamp; }

  /// Number of stamps within `span` before `end`; 0 if there is no span.
  [[nodiscard]] std::uint64_t later_than(Instant end, std::optional<Duration> span) const noexcept {
    if (!span) return 0;
    const auto known = static_cast<std::ptrdiff_t>(std::min(count_, kMost));
    return static_cast<std::uint64_t>(
        std::count_if(stamps_.begin(), stamps_.begin() + known,
                      [&](Instant stamp) { return stamp_difference(end, stamp) < *span; }));
  }

 private:
  std::array<Instant, kMost> stamps_{};
  std::size_t count_ = 0;
};

}  // namespace lw::analysis
