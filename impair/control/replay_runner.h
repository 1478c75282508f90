// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>

#include "impair/control/live_profile.h"
#include "impair/control/schedule.h"
#include "impair/datapath/capture_io.h"
#include "impair/record/ledger_file.h"
#include "impair/record/replay_source.h"
#include "impair/report/report.h"

namespace lw::impair {

/// Drives a CaptureForwarder in virtual time, in one direction or both. Events happen in order of
/// time. At one instant, in this order: due frames leave, queues request pauses, a step of the
/// scenario takes effect, frames arrive.
class ReplayRunner {
 public:
  /// `link`: configuration of each direction's link. `ledger` and `recording` may be null, and must
  /// outlive the runner. `writer` has an interface for each number that frames carry, and, with
  /// both directions, for the number of each direction.
  ReplayRunner(const LiveProfile::Version& version, const emulator::LinkConfig& link,
               std::span<const emulator::Direction> directions, LedgerFile* ledger,
               RecordingFile* recording, capture::Writer writer);
  // The forwarder holds references to members.
  ReplayRunner(const ReplayRunner&) = delete;
  ReplayRunner& operator=(const ReplayRunner&) = delete;
  ~ReplayRunner() = default;

  /// Admits a frame at its time stamp, or at that of its predecessor if it is later. Errors: the
  /// profile does not fit the link type, a write failed, or a step of the scenario is invalid.
  Result<void> replay(const Arriving& frame);
  /// Call after the last frame: sends all frames inside, and closes the output capture. Error: as
  /// replay().
  Result<void> finish();
  /// True if a write to the output capture failed.
  [[nodiscard]] bool failed() const noexcept { return state_.writer.failed(); }
  /// Adds the statistics to `report`.
  void report(Report& report) const;

  /// Virtual time since the first frame came in.
  [[nodiscard]] Duration elapsed() const noexcept {
    return first_ ? state_.now - *first_ : Duration{0};
  }
  [[nodiscard]] const ChangeLog& changes() const noexcept { return log_; }
  [[nodiscard]] const CaptureForwarder& forwarder() const noexcept { return forwarder_; }

 private:
  [[nodiscard]] Result<void> check_link_type(const config::ImpairProfile& profile) const;
  Result<void> advance(Instant until);
  Result<void> take_step(const Schedule::Item& item);
  Result<void> poll(bool receiving);
  [[nodiscard]] std::optional<Instant> next_step() const;

  LiveProfile live_;
  LedgerFile* ledger_;
  RecordingFile* recording_;
  std::optional<FileRecorder> recorder_;
  Schedule schedule_;
  ScenarioReport scenario_;
  roce::LinkType link_type_ = roce::LinkType::ethernet;
  ReplayState state_;
  CaptureForwarder forwarder_;
  std::optional<Instant> first_;
  RuleNames names_;
  ChangeLog log_;
  EndedAudits ended_;
  std::uint64_t stamps_backwards_ = 0;
};

}  // namespace lw::impair
