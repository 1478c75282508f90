// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <span>

#include "impair/control/agenda.h"
#include "impair/control/live_profile.h"
#include "impair/datapath/replay_source.h"
#include "impair/datapath/virtual_way.h"

namespace lw::impair {

/// The bump in the wire in virtual time: one direction by itself, or both, which then tell each
/// other what a Bump's do, at the very instant. Whatever happens does so in the order of time; at
/// one instant what is due leaves first, then queues ask for silence, then the scenario takes its
/// step, and then frames come in.
class VirtualBump {
 public:
  /// `link`: of each direction. `directions`: one, or both. The copy has an interface for whatever
  /// a frame's interface says, and for a direction's number where there are both. `ledger` and
  /// `recording` may be null, and outlive it.
  VirtualBump(const LiveProfile::Version& version, const emulator::LinkConfig& link,
              std::span<const emulator::Direction> directions, LedgerFile* ledger,
              RecordingFile* recording, capture::Writer writer);
  // Its ways know where it is.
  VirtualBump(const VirtualBump&) = delete;
  VirtualBump& operator=(const VirtualBump&) = delete;
  ~VirtualBump() = default;

  /// A frame comes in when its stamp says, or with the one before it where that was later. Errors:
  /// a profile that is for other frames than these, the copy's, a scenario step's.
  Result<void> take(const Arriving& frame);
  /// Nothing more comes in: lets out all that is inside.
  Result<void> finish();
  /// Adds what became of the frames.
  void report(Report& report) const;

 private:
  [[nodiscard]] bool both() const noexcept { return ways_.size() > 1; }
  [[nodiscard]] VirtualWay& way(emulator::Direction direction) noexcept;
  [[nodiscard]] Result<void> fits(const config::ImpairProfile& profile) const;
  Result<void> advance(Instant until);
  Result<void> take_step(const config::ScenarioStep& step);
  Result<void> let_out();
  [[nodiscard]] std::optional<Instant> next_step() const;
  [[nodiscard]] Instant next_work() const noexcept;
  [[nodiscard]] std::size_t inside() const noexcept;

  LiveProfile live_;
  LedgerFile* ledger_;
  RecordingFile* recording_;
  Agenda agenda_;
  ScenarioReport scenario_;
  roce::LinkType link_type_ = roce::LinkType::ethernet;
  FrameStore frames_;
  capture::Writer writer_;
  PauseExchange pauses_;
  std::deque<VirtualWay> ways_;
  std::optional<Instant> first_;
  Instant now_{Duration{std::numeric_limits<Duration::rep>::min()}};
  RuleNames names_;
  std::uint64_t stamps_backwards_ = 0;
};

}  // namespace lw::impair
