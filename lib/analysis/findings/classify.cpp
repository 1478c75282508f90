// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/classify.h"

#include "analysis/findings/duplicate.h"
#include "analysis/findings/gap.h"
#include "analysis/findings/late.h"
#include "analysis/findings/lost_behind.h"
#include "analysis/findings/retransmission.h"
#include "analysis/findings/stall.h"

namespace lw::analysis {
namespace {

std::optional<Finding> finding_of(const Fact& fact, const ConnectionFacts& connection,
                                  const CaptureFacts& capture) {
  switch (fact.seen.kind) {
    case AnomalyKind::psn_gap:
      return classify_gap(fact, connection, capture);
    case AnomalyKind::retransmission:
      return classify_retransmission(fact, connection, capture);
    case AnomalyKind::duplicate:
      return classify_duplicate(fact, connection, capture);
    case AnomalyKind::lost_after_capture:
      return classify_lost_behind(fact, connection);
    case AnomalyKind::out_of_order:
      return classify_late(fact, connection);
    case AnomalyKind::stall:
      return classify_stall(fact, connection);
    case AnomalyKind::ack_of_unsent:  // it may have been sent before the capture began
      if (fact.early && connection.began_before) return std::nullopt;
      return Finding::certain(fact.seen.cause);
    default:
      return Finding{.certainty = fact.seen.certainty, .cause = fact.seen.cause};
  }
}

}  // namespace

std::optional<Anomaly> classify(const Fact& fact, const ConnectionFacts& connection,
                                const CaptureFacts& capture) {
  const auto finding = finding_of(fact, connection, capture);
  if (!finding) return std::nullopt;
  Anomaly anomaly = fact.seen;
  anomaly.kind = finding->kind.value_or(anomaly.kind);
  anomaly.cause = finding->cause;
  anomaly.certainty = finding->certainty;
  anomaly.alternatives = finding->alternatives;
  return anomaly;
}

}  // namespace lw::analysis
