// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dissect/matching/clock_steps.h"
#include "dissect/matching/common_span.h"
#include "dissect/matching/lacking.h"
#include "dissect/matching/time_changes.h"
#include "dissect/matching/two_clocks.h"

namespace lw::dissect {

/// A share of trials and its 95 % confidence interval.
struct Proportion {
  double value = 0, low = 0, high = 1;

  /// True if the interval holds the share.
  [[nodiscard]] bool contains(double share) const noexcept { return low <= share && share <= high; }
};

/// Wilson's score interval; also valid for few trials and for shares near 0. (E. B. Wilson 1927)
Proportion wilson95(std::uint64_t hits, std::uint64_t trials) noexcept;

/// One-way delays in ns, exact. (A histogram rounds by 0.05 %, which is a microsecond at 1.9 ms,
/// more than the errors of interest.) 8 bytes per frame.
class Delays {
 public:
  void reserve(std::size_t count) { sorted_.reserve(count); }
  /// Adds a delay. Call in the order of arrival.
  void add(std::int64_t ns);
  void sort();

  [[nodiscard]] std::size_t count() const noexcept { return sorted_.size(); }
  [[nodiscard]] double mean() const noexcept;
  /// Mean of the absolute differences between one delay and the next that was added; 0 for less
  /// than two delays.
  [[nodiscard]] double jitter() const noexcept;
  /// The smallest delay with at least `q` of all at or below it, q in [0, 1]: 0 is the shortest, 1
  /// the longest. Requires sort() and at least one delay.
  [[nodiscard]] std::int64_t quantile(double q) const noexcept;

 private:
  std::vector<std::int64_t> sorted_;
  std::int64_t last_ = 0;  // the delay added last
  double changes_ = 0;     // sum of the differences
};

/// A frame that was changed on the way: its numbers in the captures of both points.
struct ChangedFrame {
  std::uint32_t sent = 0, received = 0;
  bool bad_icrc = false;  // when it arrived
};
/// Limit of the changed frames that a comparison names, per direction.
inline constexpr std::size_t kMostChanged = 1000;

/// A frame that one point saw, and the next one did not.
struct LostFrame {
  std::uint32_t number = 0;   // in the capture of the point that saw it
  std::int64_t stamp_ns = 0;  // there
  roce::FlowKey flow = {};    // without the role
  std::uint32_t psn = 0;
  std::uint8_t opcode = 0;
};
/// Limit of the lost frames that a comparison names, per direction.
inline constexpr std::size_t kMostLost = 1000;

/// Result for the frames of one direction.
struct DirectionResult {
  std::uint64_t sent = 0, received = 0;
  std::uint64_t lost = 0;                                // seen at the sender's point only
  std::uint64_t lost_acknowledged = 0;                   // of them: see Lacking::acknowledged
  std::uint64_t outside_sent = 0, outside_received = 0;  // frames outside of the common span
  std::uint64_t invented = 0;                            // seen at the receiver's point only
  std::uint64_t changed = 0;     // seen at both, with changes that no router makes
  std::uint64_t damaged = 0;     // frames of `changed` and `invented` with a bad ICRC
  std::uint64_t duplicated = 0;  // further copies of a frame that was sent once
  std::uint64_t reordered = 0;   // arrived after a frame of its flow that was sent later (RFC 4737)
  std::uint64_t ambiguous = 0;   // matched, but another frame could be the match: no delay
  bool variation_only = false;   // delays are relative to the shortest
  std::uint64_t ce = 0;          // received with ECN CE
  std::uint64_t marked = 0;      // part of ce: was not CE when it was sent
  Delays delays;                 // of all matched frames that are not ambiguous
  /// Number of frames of one header form that arrived with another: indices into HeaderForms.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> rewritten;
  /// The first changed frames, in the order of arrival.
  std::vector<ChangedFrame> changed_frames;
  /// The first lost frames, in the order in which they were sent.
  std::vector<LostFrame> lost_frames;

  [[nodiscard]] bool seen() const noexcept {
    return sent + received + outside_sent + outside_received > 0;
  }
  [[nodiscard]] Proportion loss() const noexcept { return wilson95(lost, sent); }
};

struct Comparison {
  DirectionResult near_to_far, far_to_near;
  std::uint64_t forgotten_flows = 0;
  Matching matching;
  /// With Senders::both_unsynchronized: a fit for each time between two steps.
  std::vector<ClockFit> clocks;
  std::vector<ClockStep> steps;    // of the clocks
  TimeChanges changes;             // when the path changed
  Lacking lacking;                 // what the captures do not hold: not judged
  std::optional<CommonSpan> span;  // with CompareRules::judges_span
};

struct CompareRules {
  /// With both_unsynchronized, Comparison::clocks corrects the delays.
  Senders senders = Senders::both;
  /// Frames outside of the time that both captures cover are not lost and not invented. False: both
  /// captures were taken by one process, which began and ended them together.
  bool judges_span = false;
  bool across_flows = false;  // judges order over all frames of a direction, not per flow
  /// Frees what only matching needs of the records, as nothing else will match them: 10 bytes a
  /// frame (CaptureRecords::free_keys()).
  bool frees_keys = false;
};

/// Matches the frames of two points of a path (see match_frames()) and counts losses, changes,
/// copies and delays.
Comparison compare_points(CapturePoint& near, CapturePoint& far, const Names& names,
                          const CompareRules& rules = {});

}  // namespace lw::dissect
