// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "gen/report/verdict.h"

namespace lw::gen {

/// A run at its end: what left, what came, and whether that is as expected.
class RunSummary {
 public:
  /// `received` may be null. All must outlive the summary.
  RunSummary(const config::FlowProfile& profile, const RunReport& sent,
             const Measurement* received);

  /// Nothing was left unsent or left wrong, and every bound held.
  [[nodiscard]] bool good() const;

  /// Several lines for people; one line of JSON.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;

 private:
  const config::FlowProfile& profile_;
  const RunReport& sent_;
  const Measurement* received_;
  Verdict verdict_;
};

}  // namespace lw::gen
