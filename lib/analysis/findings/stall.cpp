// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/stall.h"

namespace lw::analysis {

std::optional<Finding> classify_stall(const Fact& fact, const ConnectionFacts& connection) {
  // A sender that waits for each answer is silent for a round trip, as the shortest one shows.
  constexpr int kUsual = 2;
  const auto round_trip = connection.least_rtt ? connection.least_rtt : connection.least_answer;
  if (round_trip && fact.seen.duration / kUsual < *round_trip) return std::nullopt;
  return Finding::certain(fact.seen.cause);
}

}  // namespace lw::analysis
