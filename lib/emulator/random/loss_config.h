// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lw::emulator {

/// Loses each frame with a probability, by draws that resemble each other: netem's `loss P C`. See
/// CorrelatedDraw.
struct CorrelatedLosses {
  double probability = 0, correlation = 0;
  friend bool operator==(const CorrelatedLosses&, const CorrelatedLosses&) = default;
};

/// Two states, good and bad. Before each frame the state changes with probability p (to bad) or r
/// (to good). A frame is lost with probability `bad_loss` in the bad state and `good_loss` in the
/// good one: netem's `loss gemodel p r 1-h 1-k`.
struct GilbertElliott {
  double p = 0, r = 1, bad_loss = 1, good_loss = 0;
  friend bool operator==(const GilbertElliott&, const GilbertElliott&) = default;
};

/// netem's `loss state`: in state 1 a frame arrives within a gap, in 2 it arrives within a burst,
/// in 3 it is lost within a burst, in 4 it is lost alone within a gap (and the next state is 1).
/// Salsano, Ludovici, Ordine, "Definition of a general and intuitive loss model for packet
/// networks", 2009.
struct FourState {
  double p13 = 0, p31 = 1, p32 = 0, p23 = 1, p14 = 0;
  friend bool operator==(const FourState&, const FourState&) = default;
};

/// A burst of losses begins at a frame with `probability`, unless a burst is in progress. Its
/// length is `shortest` to `longest` frames, all equally likely, or one of `lengths`.
struct Bursts {
  double probability = 0;
  std::uint32_t shortest = 1, longest = 1;  // 1 <= shortest <= longest
  std::vector<std::uint32_t> lengths = {};  // ascending, from shortest to longest; or empty

  /// The probability that a burst has this length.
  [[nodiscard]] double share_of(std::size_t length) const noexcept;
  [[nodiscard]] double mean_length() const noexcept;
  friend bool operator==(const Bursts&, const Bursts&) = default;
};

/// Loses the last of every `n` frames: frames n-1, 2n-1, ... of those that reach the stage.
struct EveryNth {
  std::uint64_t n = 1;
  friend bool operator==(const EveryNth&, const EveryNth&) = default;
};

/// Loses frame i if bit i modulo the pattern's length is set. Not empty.
struct BitPattern {
  std::vector<bool> lost;
  friend bool operator==(const BitPattern&, const BitPattern&) = default;
};

/// Loses a frame if one of its bits (including FCS) is wrong; bit errors are independent.
struct BitErrors {
  double rate = 0;
  friend bool operator==(const BitErrors&, const BitErrors&) = default;
};

/// Loses exactly these frames of those that reach the stage, counted from 0; ascending.
struct ListedFrames {
  std::vector<std::uint64_t> frames;
  friend bool operator==(const ListedFrames&, const ListedFrames&) = default;
};

/// The frames that a rule loses. A number is the probability of losing each frame independently.
using LossConfig = std::variant<double, CorrelatedLosses, GilbertElliott, FourState, Bursts,
                                EveryNth, BitPattern, BitErrors, ListedFrames>;

/// Returns true if the model can lose any frame.
bool loses(const LossConfig& loss) noexcept;
/// Returns the share of frames that is lost in the long run. `bytes`: frame size without FCS, used
/// if the model depends on it. 0 for listed frames, because the list ends.
double expected_loss(const LossConfig& loss, std::uint32_t bytes) noexcept;
/// Returns a description: "0.1 % independent", "Gilbert-Elliott p 0.01 r 0.3".
std::string describe(const LossConfig& loss);

}  // namespace lw::emulator
