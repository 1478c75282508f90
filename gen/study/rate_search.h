// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/error.h"

namespace lw::gen {

/// One try at a rate.
struct Trial {
  double fraction = 0;  // of the highest rate, as it was asked for
  std::uint64_t sent = 0, received = 0, not_sent = 0;
  double wire_bps = 0, frames_per_second = 0;  // as it was offered
  bool offered = true;                         // the sender reached the rate

  /// More than was sent (a duplicate on the way) makes no frame less lost; it counts as none.
  [[nodiscard]] std::uint64_t lost() const noexcept {
    return sent > received ? sent - received : 0;
  }
  [[nodiscard]] double loss() const noexcept {
    return sent > 0 ? static_cast<double>(lost()) / static_cast<double>(sent) : 0;
  }
};

struct SearchConfig {
  double loss = 0;           // tolerated, of the frames sent
  double resolution = 0.01;  // of the highest rate; in (0, 1]
  int repeat = 1;            // trials that a rate must pass, one after the other
};

/// What a search came to. `passes` is the highest rate that passed, `fails` the lowest above it
/// that didn't: no farther from it than the resolution. Without `fails` the highest rate passed;
/// without `passes` not even the resolution did.
struct SearchResult {
  std::optional<Trial> passes, fails;
  std::vector<Trial> trials;  // in their order
};

/// A trial passes when the rate was offered and no more than the tolerated share was lost.
bool passes(const Trial& trial, const SearchConfig& config) noexcept;

/// Looks for the highest rate without loss by bisection (RFC 2544, 26.1): the highest first, then
/// always the middle of what passed and what failed. `try_at` runs a trial at a fraction of the
/// highest rate, in (0, 1]. Ends after 1 + log2(1 / resolution) rates whatever the trials say.
/// Errors: try_at's.
Result<SearchResult> search_rate(const SearchConfig& config,
                                 const std::function<Result<Trial>(double)>& try_at);

}  // namespace lw::gen
