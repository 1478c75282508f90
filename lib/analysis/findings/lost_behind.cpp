// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/lost_behind.h"

namespace lw::analysis {
namespace {

constexpr Finding kLostOrOvertaken =
    Finding::either({{AnomalyKind::lost_after_capture, Cause::lost_behind},
                     {AnomalyKind::out_of_order, Cause::reordered_behind}});

/// Whether an answer acknowledges it far sooner after its repetition than any answer comes: the
/// first transmission may have come, behind packets that overtook it.
bool is_acknowledged_too_soon(const Fact& fact, const ConnectionFacts& connection) noexcept {
  constexpr int kFar = 2;
  return connection.goes_back && fact.waits.answered && connection.least_rtt &&
         *fact.waits.answered < *connection.least_rtt / kFar;
}

}  // namespace

Finding classify_lost_behind(const Fact& fact, const ConnectionFacts& connection) {
  // The NAK was for the first transmission, or an overtaken second one.
  if (fact.again) return kLostOrOvertaken;
  if (!is_acknowledged_too_soon(fact, connection)) return Finding::certain(fact.seen.cause);
  // A responder whose times vary may answer sooner than it did before.
  if (!connection.steady_rtt) return kLostOrOvertaken;
  return {.cause = Cause::reordered_behind, .kind = AnomalyKind::out_of_order};
}

}  // namespace lw::analysis
