// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"
#include "emulator/queue/line.h"

namespace lw::emulator {

/// A token bucket: frames that find too few tokens are dropped.
struct PoliceConfig {
  double rate_bps = 0;                     // tokens' rate, > 0
  std::uint64_t burst_bytes = 0;           // what the bucket holds, > 0; full at first
  std::uint32_t overhead = kLineOverhead;  // bytes that each frame takes beside its own
  friend bool operator==(const PoliceConfig&, const PoliceConfig&) = default;
};

class Policer {
 public:
  explicit Policer(const PoliceConfig& config) noexcept
      : bytes_per_ns_(config.rate_bps / 8e9),
        full_(static_cast<double>(config.burst_bytes)),
        overhead_(config.overhead),
        tokens_(full_) {}

  /// Takes the frame's tokens, or none. `now` never falls.
  [[nodiscard]] bool conforms(std::uint32_t bytes, Instant now) noexcept {
    // The first frame finds a full bucket, whatever the clock's origin.
    if (filled_ != Instant{}) {
      const auto passed = static_cast<double>((now - filled_).count());
      tokens_ = std::min(full_, tokens_ + passed * bytes_per_ns_);
    }
    filled_ = now;
    const double cost = on_the_line(bytes, overhead_);
    if (cost > tokens_) return false;
    tokens_ -= cost;
    return true;
  }

 private:
  double bytes_per_ns_, full_;
  std::uint32_t overhead_;
  double tokens_;
  Instant filled_{};
};

}  // namespace lw::emulator
