// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/time.h"
#include "dissect/compare/changes.h"
#include "dissect/compare/expectation.h"
#include "dissect/compare/ledger_check.h"

namespace lw::dissect {

/// Delay and loss that the path should have.
struct Asked {
  std::optional<Duration> delay;
  std::optional<double> loss;  // a probability
};

/// What compare found.
struct CompareReport {
  CapturePoint near = {}, far = {};
  IdentityRule rule = {};
  Comparison comparison = {};
  Changes there = {}, back = {};  // from near to far, and back
  Asked asked = {};
  std::vector<Judgement> judgements = {};
  std::optional<LedgerFindings> ledger_there = {}, ledger_back = {};
};

/// Text.
std::string comparison_text(const CompareReport& report);
/// One JSON line.
std::string comparison_json(const CompareReport& report);
/// A header line, and a line a direction that has frames.
std::string comparison_csv(const CompareReport& report);

}  // namespace lw::dissect
