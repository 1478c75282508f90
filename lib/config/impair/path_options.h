// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/time.h"

namespace lw::config {

/// A path that is described by single values in place of a profile. A value that is not given has
/// no effect.
struct PathOptions {
  std::optional<double> km;             // of bare fibre (G.652), in each direction
  std::optional<Duration> delay;        // one way, in place of `km`
  std::optional<Duration> jitter;       // the delay differs by at most this
  std::optional<double> loss;           // share of the frames
  std::optional<double> rate_bps;       // of a queue in each direction
  std::optional<std::uint64_t> buffer;  // of these queues, in bytes
  bool all_frames = false;              // not RoCEv2 only

  /// Returns whether a value is given; `all_frames` alone is none.
  [[nodiscard]] bool given() const noexcept {
    return km || delay || jitter || loss || rate_bps || buffer;
  }
};

/// The options as a command line has them: "--distance 380km --loss 0.1%".
std::string words_of(const PathOptions& options);

/// Returns the text of an impair profile with one rule, "path", for both directions. Jitter is even
/// from -jitter to +jitter. Errors (usage): both `km` and `delay`, or values that need one which is
/// not given.
Result<std::string> profile_of(const PathOptions& options);

}  // namespace lw::config
