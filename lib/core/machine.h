// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figure.h"
#include "core/stalls.h"
#include "core/time.h"

/// What this machine itself did to frames: its ports, rings, pools, sockets and threads. It is no
/// effect of the path that a program measures or emulates.
namespace lw {

/// Frames that this machine lost in one place.
struct OwnLoss {
  std::string place;  // "port west"
  std::string how;    // "before it received them"
  std::uint64_t lost = 0;
  std::uint64_t frames = 0;                       // that came there, lost ones included
  std::optional<Duration> first = {}, last = {};  // since the start, by samples
  std::string remedy = {};

  [[nodiscard]] double share() const noexcept {
    return frames == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(frames);
  }
  static const FigureTable& figures();
};

/// What this machine lost and delayed in a run.
struct Machine {
  std::vector<OwnLoss> losses = {};  // one for each place that may lose frames
  Stalls stalls = {};
  Duration elapsed{};  // of the run

  /// Adds another machine, or what the same one did in another part of the run.
  void add(const Machine& other);
  [[nodiscard]] std::uint64_t lost() const noexcept;
  /// The share in the place that lost most of its frames.
  [[nodiscard]] double share() const noexcept;
  [[nodiscard]] double stalled_share() const noexcept;
  static const FigureTable& figures();
};

/// Returns what the machine of a `host` lost and delayed, among those of others: its places have
/// the name of the host.
Machine of_host(Machine machine, const std::string& host);

}  // namespace lw
