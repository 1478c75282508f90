// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/jitter.h"

namespace lw::emulator {

ScoreTable::ScoreTable(const Distribution& distribution) {
  nodes_.reserve(kNodes + 1);
  for (std::size_t i = 0; i <= kNodes; ++i) {
    const double score = static_cast<double>(i) / kNodesAUnit - kEnd;
    nodes_.push_back(quantile(distribution, normal_cumulative(score), normal_cumulative(-score)));
  }
}

Jitter::Jitter(const JitterConfig& config, Chance chance) : chance_(chance) {
  if (config.half_life) {
    process_.emplace(*config.half_life, chance);
    table_.emplace(config.distribution);
  } else {
    sampler_.emplace(config.distribution);
  }
}

double ample(const JitterConfig& jitter) noexcept {
  return quantile(jitter.distribution, 0.999, 0.001);
}

}  // namespace lw::emulator
