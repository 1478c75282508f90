// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "gen/tx/tx_burst.h"
#include "gen/tx/tx_group.h"

namespace lw::gen {

/// A burst of flows' frames for one queue of a port, with what is counted of each. One thread.
class FlowBurst {
 public:
  static constexpr std::size_t kFrames = TxBurst::kFrames;

  /// `audit` gets each burst's pacing error, and checks some of the frames. With `keep_copies`,
  /// copies of the sent frames are kept until the next Filling. All arguments must outlive this.
  FlowBurst(nic::Port& port, std::uint16_t queue, SendBuffers& buffers, SendAudit& audit,
            bool keep_copies)
      : burst_(port, buffers.pool(), queue),
        buffers_(&buffers),
        audit_(&audit),
        timed_(port.is_timed() ? port.timed_sending() : std::nullopt),
        copies_(keep_copies ? kFrames : 0),
        scratch_(SendBuffers::kPayloadAt + FrameTemplate::kTailroom) {}

  /// True if the port sends each frame at its due time, so that it may get frames earlier.
  [[nodiscard]] bool is_timed() const noexcept { return timed_.has_value(); }
  void follow_clock(Instant now) {
    if (timed_) timed_->follow(now);
  }

  /// Adds frames to a burst. It holds the burst's counts in local variables: after each byte
  /// written to a frame the compiler would have to read them from the burst again. One at a time;
  /// end it with close().
  class Filling {
   public:
    explicit Filling(FlowBurst& burst) noexcept : burst_(&burst) {
      if (burst.count_ == 0) burst.burst_.refill(*burst.buffers_);
      spare_ = burst.burst_.spare();
      space_ = kFrames - burst.count_;
      groups_ = burst.group_count_;
    }
    void close() noexcept {
      burst_->burst_.add_spare(burst_->burst_.spare().size() - spare_.size());
      burst_->count_ = kFrames - space_;
      burst_->group_count_ = groups_;
    }
    /// How many frames the burst can still take.
    [[nodiscard]] std::size_t space() const noexcept { return space_; }

    /// Free buffers for the next frames.
    [[nodiscard]] std::span<rte_mbuf* const> buffers() const noexcept { return spare_; }
    /// Adds the first `frames` of buffers(): frames of `flow`, the first one due `at`.
    void add(std::uint32_t flow, std::uint32_t frames, Duration at,
             const FrameInfo& info) noexcept {
      spare_ = spare_.subspan(frames);
      note({.flow = flow, .frames = frames, .info = info}, at);
    }
    /// The flow of each next frame: fill in before add() with TxGroup::kSeveral.
    [[nodiscard]] std::span<std::uint32_t> flows() noexcept {
      return std::span(burst_->flows_).last(space_);
    }
    /// Adds a frame for which no buffer is free; it will not be sent.
    void add_without_buffer(std::uint32_t flow, Duration at, const FrameInfo& info) noexcept {
      note({.flow = flow, .frames = 1, .info = info}, at);
    }
    /// The place to encode that frame's payload.
    [[nodiscard]] std::byte* scratch() noexcept {
      return burst_->scratch_.data() + SendBuffers::kPayloadAt;
    }
    /// Sets a frame's due time. Requires is_timed().
    void set_due(rte_mbuf* buffer, Instant due) noexcept { burst_->timed_->stamp(buffer, due); }

   private:
    void note(const TxGroup& group, Duration at) noexcept {
      if (groups_ == 0) burst_->first_due_ = at;
      burst_->groups_[groups_++] = group;
      space_ -= group.frames;
    }

    FlowBurst* burst_;
    std::span<rte_mbuf* const> spare_;
    std::size_t space_ = 0, groups_ = 0;
  };

  struct Outcome {
    std::span<const TxGroup> groups;
    std::span<const std::uint32_t> flows;  // by frame, where a group is of several flows
    std::size_t sent = 0;                  // first frames of the groups; the others are dropped
    bool complete = true;                  // all were sent
    std::int64_t wall_clock_ns = 0;        // just before sending; with copies only
    Instant clock{};                       // last reading of the clock; 0 without frames
  };
  /// Sends the burst (see TxBurst::send()). Due times count from `start`. The outcome is valid
  /// until the next Filling.
  Outcome send(Instant start) noexcept;

  /// Copy of the outcome's frame `i`, which was sent.
  [[nodiscard]] wire::Bytes copy(std::size_t i) const noexcept { return copies_[i]; }

 private:
  void make_copies();

  TxBurst burst_;
  SendBuffers* buffers_;
  SendAudit* audit_;
  std::array<TxGroup, kFrames> groups_;
  std::array<std::uint32_t, kFrames> flows_{};  // by frame, where a group is of several flows
  Duration first_due_{};                        // of the burst's frames
  std::size_t group_count_ = 0;
  std::size_t count_ = 0;  // frames, with or without a buffer
  std::optional<nic::TimedSending> timed_;
  std::vector<std::vector<std::byte>> copies_;
  std::vector<std::byte> scratch_;  // for frames without a buffer
};

}  // namespace lw::gen
