// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/time.h"
#include "dissect/compare/changes.h"
#include "dissect/compare/expectation.h"
#include "dissect/compare/ledger_check.h"

namespace lw::dissect {

/// Delay and loss that a user expects of the path.
struct Asked {
  std::optional<Duration> delay;
  std::optional<double> loss;  // a probability
};

/// Results of compare.
struct CompareReport {
  CapturePoint near = {}, far = {};
  IdentityRule rule = {};
  Comparison comparison = {};
  Changes there = {}, back = {};  // from near to far, and back
  Asked asked = {};
  std::vector<Judgement> judgements = {};
  std::optional<LedgerFindings> ledger_there = {}, ledger_back = {};
};

/// Formats the report as text.
std::string comparison_text(const CompareReport& report);
/// Formats the report as one JSON line.
std::string comparison_json(const CompareReport& report);
/// Formats the report as CSV: a header line, and a line for each direction that has frames.
std::string comparison_csv(const CompareReport& report);

}  // namespace lw::dissect
