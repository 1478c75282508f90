// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "gen/report/run_report.h"
#include "gen/traffic/tx_scheduler.h"
#include "gen/tx/ports.h"
#include "gen/tx/send_buffers.h"
#include "gen/tx/tx_group.h"

namespace lw::gen {

/// Frames that go to one queue of a port together. One thread.
class FlowBurst {
 public:
  static constexpr std::size_t kBurst = 32;

  /// `audit` gets each burst's pacing error and looks at some of the frames. With `keep_copies`
  /// there is one of each frame that was sent, until the next Filling. All outlive the sender.
  FlowBurst(nic::Port& port, std::uint16_t queue, SendBuffers& buffers, SendAudit& audit,
            bool keep_copies)
      : port_(&port),
        queue_(queue),
        pool_(&buffers),
        audit_(&audit),
        timed_(port.is_timed() ? port.timed_sending() : std::nullopt),
        copies_(keep_copies ? kBurst : 0),
        nowhere_(SendBuffers::kPayloadAt + FrameTemplate::kTailroom) {}
  FlowBurst(FlowBurst&& other) noexcept;
  FlowBurst& operator=(FlowBurst&&) = delete;
  ~FlowBurst();

  /// How many frames the burst still takes.
  [[nodiscard]] std::size_t room() const noexcept { return kBurst - count_; }
  /// Whether the port sends each frame when it is due, so that it may have it before.
  [[nodiscard]] bool is_timed() const noexcept { return timed_.has_value(); }
  void follow_clock(Instant now) {
    if (timed_) timed_->follow(now);
  }

  /// The burst while frames are added, its counts at hand: behind every byte that is written into
  /// a frame they would be read again from the sender. One at a time; close() ends it.
  class Filling {
   public:
    explicit Filling(FlowBurst& sender) noexcept : sender_(&sender) {
      if (sender.count_ == 0) sender.refill();
      made_ = sender.made_;
      have_ = sender.have_;
      room_ = sender.room();
      rows_ = sender.rows_;
    }
    void close() noexcept {
      sender_->made_ = made_;
      sender_->count_ = kBurst - room_;
      sender_->rows_ = rows_;
    }
    [[nodiscard]] std::size_t room() const noexcept { return room_; }

    /// Those at hand, for the next frames.
    [[nodiscard]] std::span<rte_mbuf* const> buffers() const noexcept {
      return std::span(sender_->buffers_).subspan(made_, have_ - made_);
    }
    /// The first so many of buffers() hold frames now, of one flow and the first of them due `at`.
    void add(std::uint32_t flow, std::uint32_t frames, Duration at,
             const FrameInfo& facts) noexcept {
      made_ += frames;
      note({.flow = flow, .frames = frames, .facts = facts}, at);
    }
    /// The same of TxGroup::kSeveral flows, once these are each frame's.
    [[nodiscard]] std::span<std::uint32_t> flows() noexcept {
      return std::span(sender_->flows_).last(room_);
    }
    /// One for which there is no buffer: it is given up.
    void add_nowhere(std::uint32_t flow, Duration at, const FrameInfo& facts) noexcept {
      note({.flow = flow, .frames = 1, .facts = facts}, at);
    }
    /// Where that frame can be made.
    [[nodiscard]] std::byte* nowhere() noexcept {
      return sender_->nowhere_.data() + SendBuffers::kPayloadAt;
    }
    /// Of a frame where the port is_timed().
    void set_due(rte_mbuf* buffer, Instant due) noexcept { sender_->timed_->stamp(buffer, due); }

   private:
    void note(const TxGroup& row, Duration at) noexcept {
      if (rows_ == 0) sender_->first_due_ = at;
      sender_->departures_[rows_++] = row;
      room_ -= row.frames;
    }

    FlowBurst* sender_;
    std::size_t made_ = 0, have_ = 0, room_ = 0, rows_ = 0;
  };

  struct Outcome {
    std::span<const TxGroup> departures;
    std::span<const std::uint32_t> flows;  // by frame, where a departure is of several
    std::size_t sent = 0;            // of their frames the first so many; the others are given up
    bool complete = true;            // none are given up
    std::int64_t wall_clock_ns = 0;  // just before the port got them; with copies only
    Instant looked{};                // at the clock, for the last time; 0 where nothing was made
  };
  /// Hands the frames to the port, which gets a while to take them all; a port that used up its
  /// while gets none again until it takes a frame. `start` is what due times count from. The
  /// outcome is valid until the next Filling.
  Outcome send(Instant start) noexcept;

  /// Of the outcome's sent ones.
  [[nodiscard]] wire::Bytes copy(std::size_t i) const noexcept { return copies_[i]; }

 private:
  void refill() noexcept;
  void make_copies();
  std::size_t hand_over(Instant now) noexcept;

  nic::Port* port_;
  std::uint16_t queue_;
  SendBuffers* pool_;
  SendAudit* audit_;
  std::array<TxGroup, kBurst> departures_;
  std::array<std::uint32_t, kBurst> flows_{};  // by frame, where a departure is of several
  Duration first_due_{};                       // of the burst's frames
  std::array<rte_mbuf*, kBurst> buffers_{};
  std::size_t rows_ = 0;             // departures of the burst
  std::size_t count_ = 0;            // frames of the burst
  std::size_t made_ = 0, have_ = 0;  // of them in buffers; buffers at hand
  bool stuck_ = false;
  std::optional<nic::TimedSending> timed_;
  std::vector<std::vector<std::byte>> copies_;
  std::vector<std::byte> nowhere_;  // takes frames for which there is no buffer
};

}  // namespace lw::gen
