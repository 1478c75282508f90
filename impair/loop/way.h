// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>

#include "impair/loop/mbuf_access.h"
#include "nic/clock.h"
#include "nic/port.h"
#include "path/lane.h"

namespace lw::impair {

using FrameLane = path::Lane<rte_mbuf*, MbufAccess>;

/// One direction of the bump in the wire: takes frames from one port, and lets those that a lane
/// releases out of the other. One thread.
class Way {
 public:
  Way(nic::Port& from, nic::Port& to, path::Pipeline pipeline, const path::LaneConfig& config,
      path::LedgerSink* ledger)
      : from_(&from), to_(&to), lane_(std::move(pipeline), config, ledger) {}
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  ~Way() { abandon(); }

  /// One round: receive a burst, decide, release what is due, send. True when anything moved.
  bool turn(bool receiving) noexcept;

  /// Swaps the pipeline in force for `next`; what is inside keeps the release it was given.
  void replace(FrameLane::Standby& next) noexcept { lane_.replace(next, nic::now()); }

  /// Frees all that is inside, counted as stopped.
  void abandon() noexcept;

  [[nodiscard]] const FrameLane& lane() const noexcept { return lane_; }
  [[nodiscard]] bool source_exhausted() const noexcept { return from_->exhausted(); }
  [[nodiscard]] bool source_finite() const noexcept { return from_->finite(); }
  /// When a frame was last received.
  [[nodiscard]] Instant last_received() const noexcept { return last_received_; }

 private:
  static constexpr std::size_t kBurst = 32;
  static constexpr std::size_t kSendBurst = 64;

  void admit(std::span<rte_mbuf*> frames, Instant now) noexcept;
  void make_own(std::span<rte_mbuf*> frames) noexcept;
  std::size_t send() noexcept;

  nic::Port* from_;
  nic::Port* to_;
  FrameLane lane_;
  std::array<rte_mbuf*, kBurst> burst_{};
  Instant last_received_ = nic::now();
};

}  // namespace lw::impair
