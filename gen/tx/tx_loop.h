// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <vector>

#include "capture/writer.h"
#include "gen/stats/run_stats.h"
#include "gen/traffic/tx_scheduler.h"
#include "gen/tx/tx_burst.h"
#include "nic/clock.h"

namespace lw::gen {

/// Frames that a run may still send, on all cores together. Any thread.
class FrameBudget {
 public:
  explicit FrameBudget(std::uint64_t frames) : unlimited_(frames == Limits::kAll), left_(frames) {}
  [[nodiscard]] bool spent() const noexcept { return left_.load(std::memory_order_relaxed) == 0; }
  /// Reserves up to `most` frames and returns how many. Give back what isn't used.
  std::uint64_t reserve(std::uint64_t most) noexcept;
  void give_back(std::uint64_t frames) noexcept {
    if (frames > 0 && !unlimited_) left_.fetch_add(frames, std::memory_order_relaxed);
  }

 private:
  bool unlimited_;
  std::atomic<std::uint64_t> left_;
};

/// The sending loop of one core: encodes the frames that are due, sends a burst to each port, and
/// counts the result. One thread.
class TxLoop {
 public:
  /// Flow i of the whole run goes to port i modulo the ports. `copy` may be null; otherwise it gets
  /// each frame that a port took, with the wall clock's time just before. All must outlive the
  /// loop.
  TxLoop(TxScheduler& scheduler, std::size_t flows, CoreShare share, std::span<nic::Port> ports,
         SendBuffers& buffers, const Limits& limits, FrameBudget& budget,
         capture::Writer* copy = nullptr);

  /// Sets the time that due times count from.
  void start(Instant now) noexcept { begin_ = start_ = now; }

  /// Time to add to the machine's clock for the signatures' send times.
  void set_stamp_offset(Duration offset) noexcept { stamp_offset_ = offset; }

  /// True if no frame, no budget or no time is left.
  [[nodiscard]] bool ended(Instant now) const noexcept {
    return scheduler_.done() || budget_.spent() || past_the_end(scheduler_.poll().at, now);
  }
  /// Time until the next frame is due. Requires !ended().
  [[nodiscard]] Duration ahead(Instant now) const noexcept {
    return start_ + scheduler_.poll().at - lead_ - now;
  }
  /// How far the loop is behind its schedule: the delay of the next frame, or, without one, of the
  /// last; with what Limits::catch_up put off.
  [[nodiscard]] Duration behind(Instant now) const noexcept;
  /// What ended the loop. Requires ended(), or that it was stopped.
  [[nodiscard]] EndedBy ended_by() const noexcept;
  /// Sends the due frames, at most a burst per port. Errors: the copy's.
  Result<void> send_due(Instant now);
  /// The time after send_due(): the clock's last reading before a port got its burst, if there was
  /// one. A new reading would cost 26 ns; a burst takes 22 x 32 ns.
  [[nodiscard]] Instant after_sending() const noexcept {
    return clock_ > Instant{} ? clock_ : nic::now();
  }

  /// Counters of the core's own flows, computed on each call: frames are counted per batch.
  [[nodiscard]] std::vector<FlowCounters> counters() const;
  [[nodiscard]] SendAudit& audit() noexcept { return audit_; }
  /// What Limits::catch_up skipped.
  [[nodiscard]] const CatchUp& caught_up() const noexcept { return caught_up_; }
  /// Frames of each port that were not sent, by reason.
  [[nodiscard]] const std::vector<NotSent>& not_sent() const noexcept { return not_sent_; }

 private:
  struct DueBatch;

  [[nodiscard]] bool past_the_end(Duration due, Instant now) const noexcept {
    return limits_.duration && (due >= *limits_.duration || now - begin_ >= *limits_.duration);
  }
  [[nodiscard]] FlowBurst& burst_of(std::uint32_t flow) noexcept {
    return bursts_.size() == 1 ? bursts_.front() : bursts_[share_.flow(flow) % bursts_.size()];
  }
  [[nodiscard]] bool is_due(Duration elapsed) const noexcept {
    return !scheduler_.done() && scheduler_.poll().at <= elapsed;
  }
  void fill_bursts(Instant now) noexcept;
  std::uint64_t fill(FlowBurst& burst, Instant now, Duration elapsed, std::uint64_t most) noexcept;
  std::uint64_t take_from_flow(FlowBurst::Filling& burst, bool timed, SendStamp& stamp,
                               Duration elapsed, std::uint64_t most) noexcept;
  std::uint64_t take_from_flows(FlowBurst::Filling& burst, SendStamp& stamp, Duration elapsed,
                                std::uint64_t most) noexcept;
  void encode_batch(FlowBurst::Filling& burst, std::uint32_t flow, SendStamp& stamp,
                    std::size_t frames) noexcept;
  void encode_one(FlowBurst::Filling& burst, std::uint32_t flow, bool timed, SendStamp& stamp,
                  Duration at) noexcept;
  template <FieldSet kSet>
  void encode_each(FlowBurst::Filling& burst, DueBatch& batch, const HeaderLayout& layout,
                   const FrameEncoder<kSet>& layout_encoder) noexcept;
  bool next_batch(std::uint32_t flow) noexcept;
  void limit_catch_up(Instant now) noexcept;
  void count_dropped(std::size_t port, const FlowBurst::Outcome& outcome) noexcept;
  void count_dropped(std::uint32_t flow, const FrameInfo& info, std::uint64_t frames) noexcept;
  Result<void> write_copies(const FlowBurst& burst, const FlowBurst::Outcome& outcome);

  TxScheduler& scheduler_;
  CoreShare share_;
  const Limits& limits_;
  FrameBudget& budget_;
  capture::Writer* copy_;
  const SendBuffers& buffers_;
  SendAudit audit_;
  std::vector<FlowBurst> bursts_;       // one per port
  std::vector<FlowCounters> counters_;  // of the batches before each flow's current one
  std::vector<Duration> begins_;        // due time of each flow's first frame
  std::vector<Duration> late_;          // delay of each flow's last frame
  std::span<nic::Port> ports_;
  std::vector<NotSent> not_sent_;  // one per port
  CatchUp caught_up_;
  Duration stamp_offset_{0};
  Instant begin_{};   // of the run
  Instant start_{};   // time that due times count from: begin_ plus the skipped time
  Instant clock_{};   // last reading of the clock by send_due(); 0 if there was none
  Duration lead_{0};  // time by which ports get frames before they are due
};

}  // namespace lw::gen
