// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/classify.h"

namespace lw::analysis {
namespace {

Finding finding_of(const Fact& fact, const ConnectionFacts& connection,
                   const CaptureFacts& capture) {
  switch (fact.seen.kind) {
    case AnomalyKind::psn_gap:
      return classify_gap(fact, connection, capture);
    case AnomalyKind::retransmission:
      return classify_retransmission(fact, connection, capture);
    default:
      return Finding::certain(fact.seen.cause);
  }
}

}  // namespace

Anomaly classify(const Fact& fact, const ConnectionFacts& connection, const CaptureFacts& capture) {
  const Finding finding = finding_of(fact, connection, capture);
  Anomaly anomaly = fact.seen;
  anomaly.kind = finding.kind.value_or(anomaly.kind);
  anomaly.cause = finding.cause;
  anomaly.certainty = finding.certainty;
  anomaly.alternatives = finding.alternatives;
  return anomaly;
}

}  // namespace lw::analysis
