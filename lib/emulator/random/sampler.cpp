// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/random/sampler.h"

#include <algorithm>
#include <cmath>

namespace lw::emulator {

SmoothSampler::SmoothSampler(const Distribution& distribution) {
  for (const bool upper : {false, true}) {
    std::vector<double>& nodes = nodes_[upper ? 1 : 0];
    nodes.reserve(kOctaves * kSub + 1);
    const auto add = [&](double tail) {
      nodes.push_back(upper ? quantile(distribution, 1 - tail, tail)
                            : quantile(distribution, tail, 1 - tail));
    };
    for (int octave = 1; octave <= kOctaves; ++octave)
      for (std::size_t i = 0; i < kSub; ++i)
        add(std::ldexp(1 + static_cast<double>(i) / kSub, -(octave + 1)));
    add(0.5);
  }
}

BinSampler::BinSampler(const BinnedDelay& distribution) {
  double all = 0, sum = 0;
  for (const auto& bin : distribution.bins) all += bin.weight;
  for (const auto& bin : distribution.bins) {
    const double share = bin.weight / all;
    bins_.push_back({static_cast<std::uint64_t>(std::min(sum / all, 1 - 0x1.0p-53) * 0x1.0p64),
                     bin.low, (bin.high - bin.low) / (share * 0x1.0p64)});
    sum += bin.weight;
  }
  std::uint32_t bin = 0;
  for (std::uint64_t step = 0; step < std::uint64_t{1} << kGuideBits; ++step) {
    while (bin + 1 < bins_.size() && bins_[bin + 1].begin <= step << (64 - kGuideBits)) ++bin;
    guide_.push_back(bin);
  }
}

double BinSampler::operator()(std::uint64_t bits) const noexcept {
  std::size_t bin = guide_[bits >> (64 - kGuideBits)];
  while (bin + 1 < bins_.size() && bins_[bin + 1].begin <= bits) ++bin;
  return bins_[bin].low + static_cast<double>(bits - bins_[bin].begin) * bins_[bin].per_bit;
}

Sampler::Any Sampler::sampler_of(const Distribution& distribution) {
  if (const auto* binned = std::get_if<BinnedDelay>(&distribution)) return BinSampler(*binned);
  if (const auto* uniform = std::get_if<UniformDelay>(&distribution))
    return UniformSampler(*uniform);
  return SmoothSampler(distribution);
}

Sampler::Sampler(const Distribution& distribution) : sampler_(sampler_of(distribution)) {}

}  // namespace lw::emulator
