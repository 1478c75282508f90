// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/findings/facts.h"

namespace lw::analysis {

/// What the facts allow an anomaly to be.
struct Finding {
  Certainty certainty = Certainty::certain;
  Cause cause = Cause::none;  // unless certain: the likeliest
  Hypotheses alternatives = {};
  std::optional<AnomalyKind> kind = {};  // nothing: as it was seen

  static constexpr Finding certain(Cause cause) { return {.cause = cause}; }
  /// The first alternative is the likeliest.
  static constexpr Finding either(Hypotheses alternatives) {
    return {.certainty = Certainty::either,
            .cause = alternatives.begin()->cause,
            .alternatives = alternatives};
  }
  static constexpr Finding unknown() { return {.certainty = Certainty::unknown}; }
};

// A pure function for each kind. They read tables, whose rows say why they hold; the first row that
// holds is the finding.

Finding classify_gap(const Fact& fact, const ConnectionFacts& connection,
                     const CaptureFacts& capture);
Finding classify_retransmission(const Fact& fact, const ConnectionFacts& connection);
Finding classify_duplicate(const Fact& fact, const ConnectionFacts& connection,
                           const CaptureFacts& capture);
/// Nothing: it is no stall.
std::optional<Finding> classify_stall(const Fact& fact, const ConnectionFacts& connection);

/// Returns the anomaly that a fact is; nothing: the whole capture shows that it is none.
std::optional<Anomaly> classify(const Fact& fact, const ConnectionFacts& connection,
                                const CaptureFacts& capture);

}  // namespace lw::analysis
