// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/sequence_tracker.h"
#include "config/flow/profile.h"
#include "core/figure.h"
#include "gen/receive/measurement.h"
#include "gen/search/stand_still.h"
#include "gen/search/trial_parts.h"
#include "roce/envelope.h"

namespace lw::gen {

/// Frames of a trial that arrived. A frame is identified by its flow and its sequence number: that
/// of its signature, or its PSN if it has none. All counters are disjoint.
struct ArrivalCounts {
  std::uint64_t received = 0;    // distinct frames with a right ICRC
  std::uint64_t duplicated = 0;  // copies of frames that had arrived
  std::uint64_t bad_icrc = 0;    // damaged frames; of which flow is not certain
  std::uint64_t earlier = 0;     // of an earlier trial
  std::uint64_t unclear = 0;     // too far behind to tell a late frame from a copy
  std::uint64_t other = 0;       // of no flow of the trial
  // Part of `received`: arrived after a frame with a greater number. (RFC 4737, 3.3)
  std::uint64_t out_of_order = 0;

  static const FigureTable& figures();
};

/// Counts the frames of one trial. One thread; reads no clock.
class TrialCount {
 public:
  /// The flows have the trial's run number and first PSNs, and are due within `span`.
  TrialCount(const config::FlowProfile& profile, Duration span);

  /// Counts a frame that came at `now`. Returns false if it is not RoCE.
  bool count_frame(wire::Bytes frame, Instant now);
  [[nodiscard]] const ArrivalCounts& counts() const noexcept { return counts_; }
  /// Distinct frames of a flow that arrived.
  [[nodiscard]] std::uint64_t received(std::size_t flow) const noexcept {
    return flows_[flow].received;
  }
  /// Frames that are due, by flow.
  [[nodiscard]] std::uint64_t due(std::size_t flow) const noexcept { return flows_[flow].due; }
  /// Where this machine stood still, and latencies: by the frames with a signature.
  [[nodiscard]] TrialParts parts() const;

 private:
  struct FlowState {
    wire::Psn first_psn;
    std::uint32_t psns = 1;     // of one frame; 0: all frames have the same PSN
    std::uint64_t due = 1;      // frames
    Duration gap{}, silence{};  // mean time between two frames; a longer one than `silence` is late
    Instant last_sent{};        // of frame `last`
    std::optional<std::uint64_t> last = {};
    std::uint64_t received = 0;
    analysis::SequenceTracker by_signature, by_psn;
  };
  void count_signed(const wire::SignatureFields& signature, Instant now);
  void count_plain(const roce::Envelope& envelope);
  void note_times(FlowState& flow, const wire::SignatureFields& signature, Instant now);
  void note_stand_still(FlowState& flow, std::uint64_t number, Instant sent, Instant now) noexcept;
  void count_arrival(FlowState& flow, std::uint64_t number,
                     const analysis::Arrival& arrival) noexcept;

  std::uint16_t run_ = 0;
  std::vector<FlowState> flows_;
  std::unordered_map<StreamKey, std::size_t, StreamKeyHash> plain_;
  ArrivalCounts counts_;
  TrialParts parts_;
  StandStill stand_still_;
  std::optional<Duration> first_latency_;
};

}  // namespace lw::gen
