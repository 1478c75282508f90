// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "gen/pace/departure.h"
#include "gen/pace/scheduler.h"
#include "gen/run/run_report.h"
#include "gen/send/ports.h"
#include "gen/send/send_buffers.h"

namespace lw::gen {

/// Frames that go to one queue of a port together. One thread.
class BurstSender {
 public:
  static constexpr std::size_t kBurst = 32;

  /// `audit` gets each burst's pacing error and looks at some of the frames. With `keep_copies`
  /// there is one of each frame that was sent, until the next add(). All outlive the sender.
  BurstSender(nic::Port& port, std::uint16_t queue, SendBuffers& buffers, SendAudit& audit,
              bool keep_copies)
      : port_(&port),
        queue_(queue),
        pool_(&buffers),
        audit_(&audit),
        timed_(port.is_timed() ? port.timed_sending() : std::nullopt),
        copies_(keep_copies ? kBurst : 0),
        nowhere_(SendBuffers::kPayloadAt + FrameTemplate::kRoomBehind) {}
  BurstSender(BurstSender&& other) noexcept;
  BurstSender& operator=(BurstSender&&) = delete;
  ~BurstSender();

  /// How many frames the burst still takes.
  [[nodiscard]] std::size_t room() const noexcept { return kBurst - count_; }
  /// Whether the port sends each frame when it is due, so that it may have it before.
  [[nodiscard]] bool is_timed() const noexcept { return timed_.has_value(); }
  void follow_clock(Instant now) {
    if (timed_) timed_->follow(now);
  }

  /// Adds a row of frames of one flow that are counted alike, `at` being when the first is due.
  /// `due()` is when the next one is, to be asked only where the port is_timed(), and
  /// `make(payload, held)` makes it in a buffer and returns its start; without a buffer
  /// for it, it is one that is given up. `goes_on()` is asked behind each. Returns how many there
  /// are, at most `most`, which is at least 1 and at most room().
  template <class Due, class Make, class GoesOn>
  std::uint32_t add_row(std::uint32_t flow, Duration at, const FrameFacts& facts,
                        std::uint32_t most, Due due, Make make, GoesOn goes_on) noexcept {
    if (count_ == 0) refill();
    // Field by field: a whole one put together elsewhere is read back from where its parts were
    // just written, and waits for the stores (54 of 100 samples of a turn).
    Departure& row = departures_[rows_++];
    row.at = at;
    row.flow = flow;
    row.facts = facts;
    std::uint32_t frames = 0;
    std::size_t made = made_;
    do {
      ++frames;
      if (made == have_) [[unlikely]] {
        Imprint nothing;
        make(nowhere_.data() + SendBuffers::kPayloadAt, nothing);
        continue;
      }
      rte_mbuf* buffer = buffers_[made++];
      auto* room = static_cast<std::byte*>(buffer->buf_addr);
      const std::byte* start = make(room + SendBuffers::kPayloadAt, pool_->imprint(buffer));
      buffer->data_off = static_cast<std::uint16_t>(start - room);
      buffer->data_len = facts.size;
      buffer->pkt_len = facts.size;
      if (timed_) [[unlikely]]
        timed_->stamp(buffer, due());
    } while (goes_on() && frames < most);
    made_ = made;
    count_ += frames;
    row.frames = frames;
    return frames;
  }

  struct Outcome {
    std::span<const Departure> departures;
    std::size_t sent = 0;            // of their frames the first so many; the others are given up
    std::int64_t wall_clock_ns = 0;  // just before the port got them; with copies only
    Instant looked{};                // at the clock, for the last time; 0 where nothing was made
  };
  /// Hands the frames to the port, which gets a while to take them all; a port that used up its
  /// while gets none again until it takes a frame. `start` is what due times count from. The
  /// outcome is valid until the next add().
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
  std::array<Departure, kBurst> departures_;
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
