// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "core/figure.h"
#include "dissect/summary/overview.h"

namespace lw::dissect {

/// What `summary` prints as JSON.
struct Summary {
  const std::vector<std::string>& files;
  const Overview& overview;

  /// Time from the earliest stamp to the latest.
  [[nodiscard]] Duration span() const;
  static const FigureTable& figures();
};

inline constexpr JsonOutput kSummaryOutput{.name = "summary",
                                           .title = "roce-dissect summary --json",
                                           .figures = &Summary::figures,
                                           .judged = true,
                                           .version = 2};

}  // namespace lw::dissect
