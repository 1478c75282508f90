// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stats/rule_stats.h"

#include <vector>

#include "core/figure.h"

namespace lw::emulator {

const FigureTable& RuleStats::figures() {
  static const auto kRows = [] {
    std::vector<Figure> rows;
    Stages::for_each([&]<class S>() {
      if constexpr (S::kHooks.has(Hook::figures))
        rows.insert(rows.end(), S::figures().rows.begin(), S::figures().rows.end());
    });
    return rows;
  }();
  static const FigureTable kTable{{}, kRows};
  return kTable;
}

}  // namespace lw::emulator
