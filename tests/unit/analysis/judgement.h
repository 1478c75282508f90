// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

#include <gtest/gtest.h>

#include "analysis/findings/classify.h"

namespace lw::analysis {

using std::chrono::microseconds;
using std::chrono::milliseconds;

inline constexpr auto kGap = AnomalyKind::psn_gap;
inline constexpr auto kResent = AnomalyKind::retransmission;

inline Fact fact_of(AnomalyKind kind, Cause cause, const Waits& waits = {}) {
  Fact fact;
  fact.seen.kind = kind;
  fact.seen.cause = cause;
  fact.waits = waits;
  return fact;
}

/// A connection with answers, of which nothing else is known.
inline ConnectionFacts answered() { return {.answered = true}; }

inline Anomaly judged(const Fact& fact, const ConnectionFacts& connection = answered(),
                      const CaptureFacts& capture = {}) {
  return classify(fact, connection, capture).value_or(Anomaly{});
}

inline void expect_certain(const Anomaly& found, Cause cause) {
  EXPECT_EQ(found.certainty, Certainty::certain);
  EXPECT_EQ(found.cause, cause);
  EXPECT_TRUE(found.alternatives.empty());
}

inline void expect_either(const Anomaly& found, const Hypotheses& alternatives) {
  EXPECT_EQ(found.certainty, Certainty::either);
  EXPECT_EQ(found.alternatives, alternatives);
  EXPECT_EQ(found.cause, alternatives.begin()->cause);
}

/// A fact of the first round trip of a capture that began within its connection.
inline Fact early(AnomalyKind kind, Cause cause) {
  Fact fact = fact_of(kind, cause);
  fact.early = true;
  return fact;
}

inline ConnectionFacts joined() {
  ConnectionFacts connection = answered();
  connection.joined = connection.began_before = true;
  connection.first_answer = 1;
  return connection;
}

}  // namespace lw::analysis
