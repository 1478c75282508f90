// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "capture/writer.h"
#include "config/impair/scenario.h"
#include "emulator/link.h"
#include "impair/datapath/frame_store.h"
#include "impair/datapath/pause_exchange.h"
#include "impair/record/ledger_file.h"
#include "impair/record/recording_file.h"
#include "impair/report/report.h"

namespace lw::impair {

/// One direction in virtual time: what a Way is between two ports. Frames come when they are
/// admitted, and leave into a capture at the very instant at which they are due.
class VirtualWay {
 public:
  using Link = emulator::Link<FrameStore::Handle, StoreAccess>;
  /// Where frames live, and what is written; recording and ledger may be null. All outlive the way.
  struct Surroundings {
    FrameStore* frames;
    capture::Writer* writer;
    LedgerFile* ledger;
    RecordingFile* recording;
  };

  VirtualWay(emulator::Pipeline pipeline, const emulator::LinkConfig& config,
             const Surroundings& around);

  /// Pause frames that come in are for the other direction's queues, and what its queues ask for
  /// goes out here, by the interface of this direction's number. The exchange outlives the way.
  void join(PauseExchange& exchange) noexcept { pauses_ = &exchange; }

  /// A frame of the store's comes in; it is the way's from now on. Time never runs backwards.
  void admit(FrameStore::Handle frame, Instant now);
  /// What is due at `now` goes on to where write() takes it from.
  void release(Instant now) noexcept { link_.release(now); }
  /// Hears the other direction and tells it what there is to tell; nothing without join().
  void exchange_pauses(Instant now);
  /// What is on the way out leaves. Errors are the capture's.
  Result<void> write(Instant now);

  /// Another pipeline of this direction decides from `now` on.
  void replace(emulator::Pipeline next, Instant now);
  /// Links at either end go down or come back.
  void set_links(const config::LinkChange& change) noexcept;
  void flush_ledger() noexcept { link_.flush_ledger(); }

  [[nodiscard]] emulator::Direction direction() const noexcept {
    return link_.pipeline().direction();
  }
  [[nodiscard]] const Link& link() const noexcept { return link_; }
  /// When something will be to do even if nothing comes in; Instant::max() where nothing will.
  [[nodiscard]] Instant next_work() const noexcept {
    return std::min(link_.next_release(), link_.next_ask());
  }
  [[nodiscard]] DirectionReport report() const;

 private:
  bool admit_as_it_is(FrameStore::Handle handle, Instant now, emulator::LedgerRecord* told);
  void send_pause(const wire::PfcFields& fields, Instant now);

  FrameStore* frames_;
  capture::Writer* writer_;
  RecordingFile* recording_;
  PauseExchange* pauses_ = nullptr;
  std::vector<std::byte> as_it_came_;
  bool way_in_ = true, way_out_ = true;  // whether the links are up
  Link link_;
};

}  // namespace lw::impair
