// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <span>

#include "emulator/link.h"
#include "impair/datapath/mbuf_access.h"
#include "impair/datapath/pause_exchange.h"
#include "impair/record/recorder.h"
#include "nic/clock.h"
#include "nic/port.h"

namespace lw::impair {

using FrameLink = emulator::Link<rte_mbuf*, MbufAccess>;

/// One direction of the bump in the wire: takes frames from one port, and lets those that a link
/// releases out of the other. One thread.
class Way {
 public:
  using Clock = Instant (*)() noexcept;
  /// `clock` is what stamps frames: a test may tell it a capture's times.
  Way(nic::Port& from, nic::Port& to, emulator::Pipeline pipeline,
      const emulator::LinkConfig& config, emulator::LedgerSink* ledger, Clock clock = nic::now)
      : from_(&from), to_(&to), clock_(clock), link_(std::move(pipeline), config, ledger) {}
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  ~Way() { abandon(); }

  /// One round: receive a burst, decide, release what is due, send. True when anything moved.
  bool turn(bool receiving) noexcept;

  /// Swaps the pipeline in force for `next`; what is inside keeps the release it was given.
  void replace(FrameLink::Standby& next) noexcept { link_.replace(next, clock_()); }

  /// Shows every frame that comes in or goes out to `recorder`, which must outlive the way.
  void record(Recorder& recorder) noexcept { recorder_ = &recorder; }

  /// Pause frames that come in are for the other direction's queues, and what its queues ask for
  /// goes out here, in frames from `pool`. Both must outlive the way.
  void join(PauseExchange& exchange, rte_mempool* pool) noexcept {
    pauses_ = &exchange;
    pool_ = pool;
  }

  /// Whether the link of the port that frames come from, or go to, is up: while it isn't, what
  /// comes in, or is due to leave, is dropped and counted as link_down.
  void set_way_in(bool up) noexcept { way_in_ = up; }
  void set_way_out(bool up) noexcept { way_out_ = up; }

  /// Frees all that is inside, counted as stopped.
  void abandon() noexcept;

  [[nodiscard]] const FrameLink& link() const noexcept { return link_; }
  /// When something will be to do even if nothing comes in.
  [[nodiscard]] Instant next_work() const noexcept {
    return std::min(link_.next_release(), link_.next_ask());
  }
  [[nodiscard]] bool source_exhausted() const noexcept {
    return exhausted_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool source_finite() const noexcept { return from_->finite(); }
  /// The clock, when turn() last looked at it.
  [[nodiscard]] Instant looked() const noexcept { return looked_; }
  /// When a frame was last received.
  [[nodiscard]] Instant last_received() const noexcept {
    return Instant{Duration{last_received_.load(std::memory_order_relaxed)}};
  }

 private:
  static constexpr std::size_t kBurst = 32;
  static constexpr std::size_t kSendBurst = 64;
  // What comes in meanwhile is seen this much later, at most.
  static constexpr Duration kAboutToBeDue{300};
  static constexpr int kMostLooks = 64;

  void admit(std::span<rte_mbuf*> frames, Instant now) noexcept;
  bool admit_by_itself(rte_mbuf* frame, Instant now) noexcept;
  void turn_away(std::span<rte_mbuf*> frames, Instant now) noexcept;
  std::size_t make_own(std::span<rte_mbuf*> frames) noexcept;
  std::span<rte_mbuf*> take_pauses(std::span<rte_mbuf*> frames, Instant now) noexcept;
  void record_as_lost(rte_mbuf* frame, Instant now, const emulator::LedgerRecord& told) noexcept;
  void send_pause(const wire::PfcFields& fields, Instant now) noexcept;
  std::size_t send() noexcept;
  std::size_t send_on_time() noexcept;

  nic::Port* from_;
  nic::Port* to_;
  Clock clock_;
  FrameLink link_;
  std::array<rte_mbuf*, kBurst> burst_{};
  Recorder* recorder_ = nullptr;
  PauseExchange* pauses_ = nullptr;
  rte_mempool* pool_ = nullptr;
  bool way_in_ = true, way_out_ = true;
  Instant looked_ = clock_();
  // Another thread may ask for these.
  std::atomic<bool> exhausted_{false};
  std::atomic<Duration::rep> last_received_{looked_.time_since_epoch().count()};
};

}  // namespace lw::impair
