// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "dissect/compare/sighting.h"

namespace lw::dissect {

/// A share of trials with the bounds between which the true one lies, 95 times in 100.
struct Proportion {
  double value = 0, low = 0, high = 1;
};

/// Wilson's score interval; sound for few trials and shares near 0 too. (E. B. Wilson 1927)
Proportion wilson95(std::uint64_t hits, std::uint64_t trials) noexcept;

/// One-way delays in ns, exact: a histogram's half per mille would be a microsecond at 1.9 ms,
/// more than the errors that are looked for. 8 bytes a frame.
class Delays {
 public:
  void add(std::int64_t ns) { sorted_.push_back(ns); }
  void sort();

  [[nodiscard]] std::size_t count() const noexcept { return sorted_.size(); }
  [[nodiscard]] double mean() const noexcept;
  /// The smallest delay with at least `q` of all at or below it, q in [0, 1]: 0 is the shortest, 1
  /// the longest. Only after sort(), and where there are any.
  [[nodiscard]] std::int64_t quantile(double q) const noexcept;

 private:
  std::vector<std::int64_t> sorted_;
};

/// What happened to the frames that went one way.
struct DirectionResult {
  std::uint64_t sent = 0, received = 0;
  std::uint64_t lost = 0;        // seen where they were sent, not where they should arrive
  std::uint64_t invented = 0;    // the other way round
  std::uint64_t damaged = 0;     // of the invented: with a bad ICRC, so changed on the way
  std::uint64_t duplicated = 0;  // further copies of a frame that was sent once
  std::uint64_t reordered = 0;   // a frame sent later came before it (RFC 4737, 3.3)
  std::uint64_t ambiguous = 0;   // matched, but equal frames were lost or copied: no delay taken
  Delays delays;                 // of all that were matched without doubt

  [[nodiscard]] bool seen() const noexcept { return sent + received > 0; }
  [[nodiscard]] Proportion loss() const noexcept { return wilson95(lost, sent); }
};

struct Comparison {
  DirectionResult near_to_far, far_to_near;
};

/// Matches what two points of one path saw: of equal frames the k-th here is the k-th there. A
/// flow (ordered pair of addresses) goes from the point that saw it first, by most of its frames;
/// so the clocks must agree to better than the path's delay.
Comparison compare_points(const CapturePoint& near, const CapturePoint& far, std::size_t flows);

}  // namespace lw::dissect
