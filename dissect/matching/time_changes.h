// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/figure.h"
#include "dissect/matching/delay_steps.h"
#include "dissect/matching/matching.h"
#include "dissect/matching/path_periods.h"

namespace lw::dissect {

/// A time in which a direction lost all packets, or the receiver's point captured none.
struct PathOutage {
  bool goes_far = true;
  std::int64_t begin_ns = 0, end_ns = 0;  // stamps of the first and the last missing packet
  std::uint64_t packets = 0;              // missing ones
  std::uint64_t acknowledged = 0;         // of them: they arrived; see acknowledged_among()
  std::uint32_t first_frame = 0;          // the first of them
  /// From the packet before the outage to the one behind it, as both were sent: it is not longer.
  std::int64_t most_ns = 0;

  /// Whether the point paused, not the path.
  [[nodiscard]] bool is_of_capture() const noexcept { return 2 * acknowledged > packets; }
  [[nodiscard]] std::string_view name() const noexcept {
    return is_of_capture() ? "gap of the capture" : "outage";
  }
  /// "all 5 packets of 40 ms were lost, 60 ms between the packets around them".
  [[nodiscard]] std::string words() const;
  static const FigureTable& figures();
};

/// What changed: fewer possibilities are left where both directions have delays.
enum class ChangeOf : std::uint8_t { path, path_one_way, clock, either };
std::string_view name_of(ChangeOf of) noexcept;  // "path", "path, one way", "clock", "either"

/// A step of the delay of one direction, or of both at once.
struct DelayChange {
  ChangeOf of = ChangeOf::either;
  std::int64_t at_ns = 0;   // by the clock where the first packet behind it was sent
  std::uint32_t frame = 0;  // that packet, in the capture of its sender's point
  /// Growth of the delay to near and to far, by the stamps; 0: that direction shows none.
  std::array<std::int64_t, 2> by_ns = {};

  /// "+193.4 us: the path is longer, by about 40 km of fibre".
  [[nodiscard]] std::string words() const;
  static const FigureTable& figures();
};

/// How the losses of one direction are spread.
struct LossRuns {
  std::uint64_t sent = 0, lost = 0;
  std::uint64_t runs = 0;  // of losses in a row
  bool in_bursts = false;  // fewer runs than independent losses have, but for one in 10,000 cases
  [[nodiscard]] bool is_independent() const noexcept { return !in_bursts; }
};

/// A steady change of the delay of one direction, or of both.
struct PathDrift {
  std::array<double, 2> by_ns = {};  // in a second, to near and to far, by the stamps; 0: none

  /// "+1.2 us a second in both directions: the path becomes longer".
  [[nodiscard]] std::string words() const;
  static const FigureTable& figures();
};

/// A frame that the receiver's point does not have.
enum class Missing : std::uint8_t {
  lost,
  acknowledged,  // it arrived, and the point lacks it
  unjudged,      // the point lacks such frames, or was not captured at that time
};

/// When and how a path changed.
struct TimeChanges {
  std::vector<PathOutage> outages;      // in the order of time
  std::vector<DelayChange> steps;       // in the order of time
  std::vector<PathPeriod> periods;      // in the order of time
  std::optional<PathDrift> drift;       // nothing: the delays do not drift
  std::array<LossRuns, 2> losses = {};  // to near, to far

  [[nodiscard]] bool any() const noexcept {
    return !outages.empty() || !steps.empty() || !periods.empty() || drift;
  }
  /// By time.
  void sort();
};

/// Finds them. A drift is at least eight times its error, and more than three times the resolution
/// of the stamps over the capture. An outage is a run of at least kOutageFewest losses that
/// independent losses as frequent as the others would show in one of 10,000 captures. `far`:
/// without steps of the clock. `judged`: what a frame without a match says.
TimeChanges find_time_changes(Records near, Records far, const Matching& matching,
                              const std::function<Missing(const Unmatched&)>& judged);
inline constexpr std::uint64_t kOutageFewest = 5;
/// Joins the changes of two directions that were compared apart, each as one to far, by stamps of
/// one clock: a step is the path's.
TimeChanges joined_changes(TimeChanges there, const TimeChanges& back);

}  // namespace lw::dissect
