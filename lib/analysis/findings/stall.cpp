// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/stall.h"

namespace lw::analysis {

std::optional<Finding> classify_stall(const Fact& fact, const ConnectionFacts& connection) {
  // A sender that waits for each answer is silent for a round trip, as the shortest one shows.
  constexpr int kUsual = 2;
  if (connection.least_rtt && fact.seen.duration / kUsual < *connection.least_rtt)
    return std::nullopt;
  return Finding::certain(fact.seen.cause);
}

}  // namespace lw::analysis
