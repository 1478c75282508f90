// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <vector>

#include "capture/writer.h"
#include "gen/stats/limits.h"
#include "gen/tx/core_share.h"
#include "gen/tx/flow_burst.h"
#include "nic/clock.h"

namespace lw::gen {

/// The frames that a run may still take, all cores together.
class FrameBudget {
 public:
  explicit FrameBudget(std::uint64_t frames) : unlimited_(frames == Limits::kAll), left_(frames) {}
  [[nodiscard]] bool spent() const noexcept { return left_.load(std::memory_order_relaxed) == 0; }
  /// Up to `most`; what isn't used is to be given back.
  std::uint64_t take(std::uint64_t most) noexcept;
  void give_back(std::uint64_t frames) noexcept {
    if (frames > 0 && !unlimited_) left_.fetch_add(frames, std::memory_order_relaxed);
  }

 private:
  bool unlimited_;
  std::atomic<std::uint64_t> left_;
};

/// What one core sends: takes the frames that are due, a burst for each port, and counts what
/// became of them. One thread.
class TxLoop {
 public:
  /// Flow i of the whole run goes to port i modulo the ports. `copy`, where there is one, gets
  /// each frame that a port took, with the wall clock's time just before. All outlive the loop.
  TxLoop(TxScheduler& scheduler, std::size_t flows, CoreShare share, std::span<nic::Port> ports,
         SendBuffers& buffers, const Limits& limits, FrameBudget& budget,
         capture::Writer* copy = nullptr);

  /// What due times count from.
  void start(Instant now) noexcept { start_ = now; }

  /// Nothing more will be sent: no frame, no budget or no time is left.
  [[nodiscard]] bool ended(Instant now) const noexcept {
    return scheduler_.done() || budget_.spent() || past_the_end(scheduler_.turn().at, now);
  }
  /// Until the next frame is due; not while ended().
  [[nodiscard]] Duration ahead(Instant now) const noexcept {
    return start_ + scheduler_.turn().at - lead_ - now;
  }
  /// Sends what is due, a burst for each port at most. Errors: the copy's.
  Result<void> send_due(Instant now);
  /// Behind send_due(): the time as it was when a port was given its burst, which is as good as now
  /// for one who has more to send, and costs no look at the clock (26 of 22 x 32 ns a burst).
  [[nodiscard]] Instant after_sending() const noexcept {
    return looked_ > Instant{} ? looked_ : nic::now();
  }

  /// By the core's own flows, put together for who asks: a frame is counted with the others of its
  /// source's run, not by itself.
  [[nodiscard]] std::vector<FlowTally> tallies() const;
  [[nodiscard]] SendAudit& audit() noexcept { return audit_; }

 private:
  [[nodiscard]] bool past_the_end(Duration due, Instant now) const noexcept {
    return limits_.duration && (due >= *limits_.duration || now - start_ >= *limits_.duration);
  }
  [[nodiscard]] FlowBurst& sender_of(std::uint32_t flow) noexcept {
    return senders_.size() == 1 ? senders_.front() : senders_[share_.flow(flow) % senders_.size()];
  }
  void take_due(Instant now) noexcept;
  [[nodiscard]] bool is_due(Duration elapsed) const noexcept {
    return !scheduler_.done() && scheduler_.turn().at <= elapsed;
  }
  std::uint64_t fill(FlowBurst& sender, Instant now, Duration elapsed, std::uint64_t most) noexcept;
  std::uint64_t take_turn(FlowBurst::Filling& filling, bool timed, SendStamp& stamp,
                          Duration elapsed, std::uint64_t most) noexcept;
  std::uint64_t take_round(FlowBurst::Filling& burst, SendStamp& stamp, Duration elapsed,
                           std::uint64_t most) noexcept;
  void make_row(FlowBurst::Filling& burst, std::uint32_t flow, SendStamp& stamp,
                std::size_t frames) noexcept;
  void make_one(FlowBurst::Filling& burst, std::uint32_t flow, bool timed, SendStamp& stamp,
                Duration at) noexcept;
  /// Under way in take_round().
  struct Round {
    std::span<const DueFlow> turns;
    std::span<Duration> next;  // by turn: when the flow's next one is
    Duration until;            // that are before this
    Duration elapsed;
    std::size_t taken = 0;  // turns
  };
  template <FieldSet kSet>
  void make_stretch(FlowBurst::Filling& burst, Round& round, const HeaderLayout& shape,
                    const FrameEncoder<kSet>& shape_maker) noexcept;
  bool go_on(std::uint32_t flow) noexcept;
  void give_up(const FlowBurst::Outcome& outcome) noexcept;
  Result<void> keep_copies(const FlowBurst& sender, const FlowBurst::Outcome& outcome);

  TxScheduler& scheduler_;
  CoreShare share_;
  const Limits& limits_;
  FrameBudget& budget_;
  capture::Writer* copy_;
  const SendBuffers& buffers_;
  SendAudit audit_;
  std::vector<FlowBurst> senders_;
  std::vector<FlowTally> tallies_;  // what their sources' runs before this one sent
  std::vector<Duration> begins_;    // when each flow's first frame is due
  std::vector<Duration> late_;      // how late each flow's last frame was
  Instant start_{};
  Instant looked_{};  // at the clock while it sent last; 0 where it didn't
  Duration lead_{0};  // by which ports have frames before they are due
};

}  // namespace lw::gen
