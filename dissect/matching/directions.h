// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dissect/matching/capture_point.h"

namespace lw::dissect {

/// The ends of the path that send frames.
enum class Senders : std::uint8_t {
  both,
  near,
  both_unsynchronized,  // both; the points' clocks differ
};

/// `far - near` in ns; see stamp_difference().
std::int64_t far_minus_near(const CaptureRecord& near, const CaptureRecord& far) noexcept;

/// Decides the direction of each flow: from near to far, or back.
///
/// A flow (addresses and destination QP) goes from the point that saw most of its matched frames
/// first: the clocks must agree to better than the path's delay. A flow without a match was sent at
/// the only point that saw it. Exception: responses went against the flows of the opposite address
/// pair if every one of them came after its request had reached the other point. A flow that both
/// points saw, or with damaged frames only, goes as the other flows of its address pair, or against
/// those of the opposite pair. Frames of forgotten flows are judged one by one.
///
/// If the clocks don't agree, two opposite flows show the direction: the difference of the stamps
/// is larger for frames to far than for frames to near, by the delays of both, on top of an offset
/// and a drift that all frames have (least squares). If an address pair has matches in one
/// direction only, its frames go to far.
class Directions {
 public:
  Directions(const FlowNames& flows, Senders senders);

  /// Counts a frame. Count all frames first; then let matches vote.
  void count(const CaptureRecord& frame, bool at_far);
  void vote(const CaptureRecord& near, const CaptureRecord& far);
  /// Decides. `far_of`: by the order at near, that of the equal frame at far, or kNoMatch.
  void decide(Records near, Records far, std::span<const std::uint32_t> far_of);
  static constexpr std::uint32_t kNoMatch = ~0U;

  // After decide():
  [[nodiscard]] bool goes_far(const CaptureRecord& near, const CaptureRecord& far) const;
  [[nodiscard]] bool goes_far(const CaptureRecord& frame, bool at_far) const;
  /// Whether matched frames of two opposite address pairs go the same way.
  [[nodiscard]] bool is_one_way() const noexcept { return one_way_; }
  /// Whether the flow of `frame` has no match, but the addresses of `other`.
  [[nodiscard]] bool is_stray(const CaptureRecord& frame, const CaptureRecord& other) const;

 private:
  using Pair = std::array<std::array<std::byte, 16>, 2>;  // source, destination
  struct Flow {
    Pair pair{};
    std::int64_t votes = 0;                 // matches later at far, minus the others
    std::array<std::uint64_t, 2> frames{};  // at near, at far
    std::array<std::int64_t, 2> first = {std::numeric_limits<std::int64_t>::max(),
                                         std::numeric_limits<std::int64_t>::max()};
    bool intact = false;  // a frame of it had a valid ICRC
    bool goes_far = true;
    bool doubtful = false;  // seen at one point only, and against the opposite pair

    [[nodiscard]] bool one_point() const { return frames[0] == 0 || frames[1] == 0; }
  };
  static constexpr std::uint32_t kForgotten = 0;

  /// Sums of a least-squares fit of y = offset + drift t + delay s, where s is 1 for frames from
  /// the lower address to the higher, and -1 for those back.
  struct DelayFit {
    double n = 0, t = 0, tt = 0, s = 0, st = 0, y = 0, ty = 0, sy = 0;
    /// Differences of neighbours that go opposite ways: twice the delay, whatever the clocks do.
    std::int64_t neighbours = 0, positive = 0, negative = 0;
    double last_side = 0, last_difference = 0;
    void add(double seconds, double side, double difference);
    /// The delay's sign; 0 without frames of both sides, and for a delay below 100 ns. Where most
    /// neighbours show another sign than the fit, a clock has stepped, and they decide.
    [[nodiscard]] int sign() const;
  };
  void add_to_fit(const CaptureRecord& near, const CaptureRecord& far);
  void vote_by_fits();

  [[nodiscard]] const Flow* flow_of(const CaptureRecord& frame) const;
  [[nodiscard]] std::int64_t votes_of(const Pair& pair) const;
  void decide_flow(Flow& flow) const;
  void judge_responses(Records near, Records far, std::span<const std::uint32_t> far_of);

  Senders senders_;
  std::vector<std::uint32_t> slots_;  // by flow number
  std::vector<Flow> flows_;           // by slot; slot 0 stands for the forgotten flows
  std::map<Pair, std::int64_t> pair_votes_;
  bool one_way_ = false;
  std::map<Pair, DelayFit> fits_;                     // by the pair with the lower address first
  std::optional<std::array<std::int64_t, 2>> first_;  // stamps of the first that voted
};

}  // namespace lw::dissect
