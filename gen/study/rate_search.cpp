// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/rate_search.h"

namespace lw::gen {

bool passes(const Trial& trial, const SearchConfig& config) noexcept {
  return trial.offered && trial.loss() <= config.loss;
}

Result<SearchResult> search_rate(const SearchConfig& config,
                                 const std::function<Result<Trial>(double)>& try_at) {
  SearchResult result;
  double low = 0, high = 1, next = 1;
  while (true) {
    bool passed = true;
    for (int i = 0; passed && i < config.repeat; ++i) {
      auto trial = try_at(next);
      if (!trial) return std::unexpected(trial.error());
      trial->fraction = next;
      result.trials.push_back(*trial);
      passed = passes(*trial, config);
    }
    (passed ? result.passes : result.fails) = result.trials.back();
    (passed ? low : high) = next;
    if (high - low <= config.resolution) return result;
    next = low + (high - low) / 2;
  }
}

}  // namespace lw::gen
