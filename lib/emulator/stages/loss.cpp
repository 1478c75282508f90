// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/loss.h"

namespace lw::emulator {
namespace {

// Longer frames than any port carries count as this long.
constexpr std::uint32_t kLongestFrame = 16384;

}  // namespace

bool FourStateLoss::operator()(const LossInput& in, const Chance& chance) noexcept {
  const std::uint64_t draw = chance.bits(in.number);
  switch (state_) {
    case State::arrives_in_gap:
      if (p14_.hit(draw)) {
        state_ = State::lost_in_gap;
      } else if (p14_or_13_.hit(draw)) {
        state_ = State::lost_in_burst;
      }
      break;
    case State::arrives_in_burst:
      if (p23_.hit(draw)) state_ = State::lost_in_burst;
      break;
    case State::lost_in_burst:
      if (p32_.hit(draw)) {
        state_ = State::arrives_in_burst;
      } else if (p32_or_31_.hit(draw)) {
        state_ = State::arrives_in_gap;
      }
      break;
    case State::lost_in_gap:
      state_ = State::arrives_in_gap;
      break;
  }
  return state_ == State::lost_in_burst || state_ == State::lost_in_gap;
}

BitErrorLoss::BitErrorLoss(const BitErrors& m) {
  of_length_.reserve(kLongestFrame + 1);
  for (std::uint32_t bytes = 0; bytes <= kLongestFrame; ++bytes)
    of_length_.emplace_back(expected_loss(m, bytes));
}

Loss::Loss(const LossConfig& config, Chance chance) : model_(model_of(config)), chance_(chance) {}

Loss::Model Loss::model_of(const LossConfig& config) {
  struct Make {
    Model operator()(double probability) const { return IndependentLoss(probability); }
    Model operator()(const GilbertElliott& m) const { return GilbertElliottLoss(m); }
    Model operator()(const FourState& m) const { return FourStateLoss(m); }
    Model operator()(const Bursts& m) const { return BurstLoss(m); }
    Model operator()(const EveryNth& m) const { return EveryNthLoss(m); }
    Model operator()(const BitPattern& m) const { return PatternLoss(m); }
    Model operator()(const BitErrors& m) const { return BitErrorLoss(m); }
    Model operator()(const ListedFrames& m) const { return ListedLoss(m); }
  };
  return std::visit(Make(), config);
}

}  // namespace lw::emulator
