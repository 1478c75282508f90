// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/figure.h"
#include "dissect/explain/facts/evidence.h"

namespace lw::dissect {

/// What happened to the packets of one direction at one place of a path.
struct PlaceVerdict {
  std::string place;                        // "before near", "near > far", "behind far"
  bool between = false;                     // between two points, where packets are counted
  std::uint64_t requests = 0, answers = 0;  // that were sent here; between points only
  std::uint64_t lost_requests = 0, lost_answers = 0;            // packets
  std::uint64_t late = 0, copied = 0, damaged = 0;              // packets
  std::uint64_t open = 0;                                       // that may have been lost, or not
  std::optional<Duration> least_delay = {}, median_delay = {};  // between points only
  bool by_stamps = false;  // delays are those of the stamps, as if the two clocks agreed
  std::vector<std::string> changes = {};  // outages and steps of the delay
  std::string unknown = {};               // why nothing can be said of it; empty: something can

  [[nodiscard]] bool nothing_happened() const noexcept {
    return lost_requests + lost_answers + late + copied + damaged + open == 0 && changes.empty();
  }
  /// "1 of 68 requests lost; delay 1.904 ms"; "nothing lost, late, copied or damaged".
  [[nodiscard]] std::string words() const;
  static const FigureTable& figures();
};

/// The verdict by places: each direction from its sender to its receiver.
struct PathVerdict {
  std::vector<PlaceVerdict> places;
  std::vector<std::string> notes;  // about clocks, and what a point lacks
};

/// Nothing: no path was analysed.
std::optional<PathVerdict> path_verdict(const Evidence& evidence);

}  // namespace lw::dissect
