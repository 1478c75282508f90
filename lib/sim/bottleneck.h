// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/chance.h"
#include "core/time.h"

namespace lw::sim {

/// A queue in front of a slower line: tail drop, and RED marking on the bytes that wait.
struct BottleneckConfig {
  double rate_bps = 0;                           // 0: there is none
  std::uint64_t buffer_bytes = 0;                // 0: endless
  std::uint64_t kmin_bytes = 0, kmax_bytes = 0;  // marking begins, and is certain; 0, 0: never
  double pmax = 1;                               // the probability just below kmax
  std::uint64_t seed = 1;
};

/// First in, first out at a constant rate: when a packet leaves follows from when the one before
/// it does, so the queue holds no packets, only its end. Times in ps: a packet's share of a line
/// isn't a whole number of ns.
class Bottleneck {
 public:
  explicit Bottleneck(const BottleneckConfig& config)
      : config_(config), chance_(config.seed, hash_name("red")) {}

  [[nodiscard]] bool exists() const noexcept { return config_.rate_bps > 0; }

  struct Verdict {
    bool dropped = false;
    bool marked = false;
    std::int64_t leaves_ps = 0;
  };
  /// A packet of `bytes` on the line arrives. Times never go back.
  Verdict enter(std::uint32_t bytes, std::int64_t now_ps) noexcept {
    const double waiting =
        static_cast<double>(std::max<std::int64_t>(0, end_ps_ - now_ps)) * config_.rate_bps / 8e12;
    if (config_.buffer_bytes > 0 && waiting + bytes > static_cast<double>(config_.buffer_bytes)) {
      return {.dropped = true};
    }
    end_ps_ =
        std::max(end_ps_, now_ps) + static_cast<std::int64_t>(bytes * 8e12 / config_.rate_bps);
    return {.marked = marks(waiting), .leaves_ps = end_ps_};
  }

 private:
  bool marks(double waiting) noexcept {
    const auto kmin = static_cast<double>(config_.kmin_bytes);
    const auto kmax = static_cast<double>(config_.kmax_bytes);
    if (kmax == 0 || waiting <= kmin) return false;
    if (waiting >= kmax) return true;
    return chance_.uniform(draws_++) < config_.pmax * (waiting - kmin) / (kmax - kmin);
  }

  BottleneckConfig config_;
  Chance chance_;
  std::uint64_t draws_ = 0;
  std::int64_t end_ps_ = 0;
};

}  // namespace lw::sim
