// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/time.h"
#include "dissect/compare/changes.h"
#include "dissect/compare/ledger_check.h"
#include "dissect/matching/comparison.h"

namespace lw::dissect {

/// Delay and loss that a user expects of the path.
struct Asked {
  std::optional<Duration> delay;
  std::optional<double> loss;  // a probability
  /// The most by which the shortest delays of the two directions differ; nothing: not known.
  std::optional<Duration> asymmetry = {};
  TimeStyle time = TimeStyle::relative;  // of the moments in the text
};

/// Results of compare.
struct CompareReport {
  CapturePoint near = {}, far = {};
  IdentityRule rule = {};
  Comparison comparison = {};
  Changes there = {}, back = {};  // from near to far, and back
  Asked asked = {};
  std::optional<LedgerFindings> ledger_there = {}, ledger_back = {};

  static const FigureTable& figures();
};
inline constexpr JsonOutput kComparisonOutput{.name = "comparison",
                                              .title = "roce-dissect compare --json",
                                              .figures = &CompareReport::figures,
                                              .judged = true,
                                              .version = 3};

}  // namespace lw::dissect
