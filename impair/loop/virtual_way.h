// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "capture/reader.h"
#include "capture/writer.h"
#include "impair/control/live_profile.h"
#include "impair/ledger/ledger_file.h"
#include "impair/loop/frame_store.h"
#include "impair/recording/recording_file.h"
#include "impair/report/report.h"
#include "impair/scenario/agenda.h"
#include "path/lane.h"

namespace lw::impair {

/// One direction in virtual time: a capture in, a capture out.
class VirtualWay {
 public:
  /// `ledger` and `recording` may be null, and outlive it.
  VirtualWay(const LiveProfile::Version& version, path::Direction direction, LedgerFile* ledger,
             RecordingFile* recording, capture::Writer writer);

  /// A frame comes in when its stamp says, or with the one before it where that was later. Errors:
  /// a filter that is for other frames than these, the copy's, a scenario step's.
  Result<void> take(const capture::Record& record, roce::Link link);
  /// Nothing more comes in: lets out all that is inside.
  Result<void> finish();
  /// Adds what became of the frames.
  void report(Report& report) const;

 private:
  using Lane = path::Lane<FrameStore::Handle, StoreAccess>;

  [[nodiscard]] Result<void> fits(const profile::ImpairProfile& profile) const;
  void admit(FrameStore::Handle handle, Instant now);
  Result<void> advance(Instant now);
  Result<void> take_step(const profile::ScenarioStep& step, Instant now);
  void set_links(const profile::LinkChange& change);
  [[nodiscard]] std::optional<Instant> next_step() const;
  Result<void> drain(Instant now);

  LiveProfile live_;
  path::Direction direction_;
  LedgerFile* ledger_;
  RecordingFile* recording_;
  std::vector<std::byte> as_it_came_;
  Agenda agenda_;
  ScenarioReport scenario_;
  bool way_in_ = true, way_out_ = true;  // whether the links are up
  roce::Link link_ = roce::Link::ethernet;
  FrameStore frames_;
  Lane lane_;
  capture::Writer writer_;
  std::optional<Instant> first_;
  Instant now_{Duration{std::numeric_limits<Duration::rep>::min()}};
  RuleNames names_;
  std::uint64_t stamps_backwards_ = 0;
};

}  // namespace lw::impair
