// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lw::emulator {

/// Two states, good and bad, that a step from frame to frame changes with probabilities p (to bad)
/// and r (to good). A frame is lost with probability `bad_loss` in the bad state and `good_loss`
/// in the good one: netem's `loss gemodel p r 1-h 1-k`.
struct GilbertElliott {
  double p = 0, r = 1, bad_loss = 1, good_loss = 0;
  friend bool operator==(const GilbertElliott&, const GilbertElliott&) = default;
};

/// netem's `loss state`: 1 a frame arrives within a gap, 2 arrives within a burst, 3 is lost within
/// a burst, 4 is lost alone within a gap (and the next is back in 1). Salsano, Ludovici, Ordine,
/// "Definition of a general and intuitive loss model for packet networks", 2009.
struct FourState {
  double p13 = 0, p31 = 1, p32 = 0, p23 = 1, p14 = 0;
  friend bool operator==(const FourState&, const FourState&) = default;
};

/// A burst of losses begins at a frame with `probability` (unless one is on) and is from
/// `shortest` to `longest` frames long, each length as likely as any other.
struct Bursts {
  double probability = 0;
  std::uint32_t shortest = 1, longest = 1;  // 1 <= shortest <= longest
  friend bool operator==(const Bursts&, const Bursts&) = default;
};

/// The last of every `n` frames is lost: frames n-1, 2n-1, ... of those that reach the stage.
struct EveryNth {
  std::uint64_t n = 1;
  friend bool operator==(const EveryNth&, const EveryNth&) = default;
};

/// Frame i is lost where bit i modulo the pattern's length is set. Not empty.
struct BitPattern {
  std::vector<bool> lost;
  friend bool operator==(const BitPattern&, const BitPattern&) = default;
};

/// A frame is lost when one of its bits (FCS included) is hit, each independently.
struct BitErrors {
  double rate = 0;
  friend bool operator==(const BitErrors&, const BitErrors&) = default;
};

/// Exactly these frames of those that reach the stage, from 0; rising.
struct ListedFrames {
  std::vector<std::uint64_t> frames;
  friend bool operator==(const ListedFrames&, const ListedFrames&) = default;
};

/// Which frames a rule loses; a number is the probability of losing each independently.
using LossConfig = std::variant<double, GilbertElliott, FourState, Bursts, EveryNth, BitPattern,
                                BitErrors, ListedFrames>;

/// Whether the model can lose any frame at all.
bool loses(const LossConfig& loss) noexcept;
/// What share of many frames is lost in the long run; frames of `bytes` without FCS, where it
/// depends on that. 0 for listed frames: they end.
double expected_loss(const LossConfig& loss, std::uint32_t bytes) noexcept;
/// "0.1 % independent", "Gilbert-Elliott p 0.01 r 0.3": for people.
std::string describe(const LossConfig& loss);

}  // namespace lw::emulator
