// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/score_process.h"

#include <algorithm>
#include <cmath>

#include "emulator/stages/distribution.h"

namespace lw::emulator {
namespace {

constexpr std::int64_t kStepsInHalfLife = 8;
// What an innovation leaves after so many steps is below 10^-12 of itself.
constexpr std::int64_t kMemory = 40 * kStepsInHalfLife;

/// Correlation of two interpolated values a half-life apart, averaged over where in a step they
/// lie; `kept` is the chain's from step to step.
double correlation_after_half_life(double kept) noexcept {
  constexpr int kPlaces = 64;
  const double far = std::pow(kept, kStepsInHalfLife);
  double sum = 0;
  for (int i = 0; i < kPlaces; ++i) {
    const double b = (i + 0.5) / kPlaces, a = 1 - b;
    const double squares = a * a + b * b;
    sum += far * (squares + a * b * (kept + 1 / kept)) / (squares + 2 * a * b * kept);
  }
  return sum / kPlaces;
}

/// The chain's correlation that makes the interpolated one a half.
double chain_correlation() noexcept {
  double low = 0.5, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (correlation_after_half_life(middle) > 0.5 ? high : low) = middle;
  }
  return low;
}

}  // namespace

ScoreProcess::ScoreProcess(Duration half_life, Chance chance) noexcept
    : chance_(chance),
      step_ns_(std::max<std::int64_t>(1, half_life.count() / kStepsInHalfLife)),
      kept_(chain_correlation()),
      renewed_(std::sqrt(1 - kept_ * kept_)) {}

double ScoreProcess::innovation(std::int64_t step) const noexcept {
  // The middle of one of 2^53 cells: never 0 or 1.
  const double below = chance_.uniform(static_cast<std::uint64_t>(step)) + 0x1.0p-54;
  return normal_quantile(below, 1 - below);
}

double ScoreProcess::after(double value, std::int64_t step) const noexcept {
  return value * kept_ + renewed_ * innovation(step);
}

double ScoreProcess::chain_at(std::int64_t step) const noexcept {
  double value = 0;
  for (std::int64_t i = step - kMemory; i <= step; ++i) value = after(value, i);
  return value;
}

void ScoreProcess::move_to(std::int64_t step) noexcept {
  if (step < step_ || step - step_ > kMemory) {
    here_ = chain_at(step);
    next_ = after(here_, step + 1);
    step_ = step;
    return;
  }
  for (; step_ < step; ++step_) {
    here_ = next_;
    next_ = after(here_, step_ + 2);
  }
}

double ScoreProcess::at(Instant t) noexcept {
  const std::int64_t ns = to_ns(t);
  const std::int64_t step = ns / step_ns_ - (ns % step_ns_ < 0 ? 1 : 0);
  if (step != step_) move_to(step);
  const double b = static_cast<double>(ns - step * step_ns_) / static_cast<double>(step_ns_);
  const double a = 1 - b;
  return (a * here_ + b * next_) / std::sqrt(a * a + b * b + 2 * a * b * kept_);
}

}  // namespace lw::emulator
