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
        copies_(keep_copies ? kBurst : 0) {}
  BurstSender(BurstSender&& other) noexcept;
  BurstSender& operator=(BurstSender&&) = delete;
  ~BurstSender();

  /// How many frames the burst still takes.
  [[nodiscard]] std::size_t room() const noexcept { return kBurst - count_; }

  /// Makes the stream's next frame, due at `at`, with `stamp` as its send time. Without a buffer
  /// for it, it is one that is given up. Returns its size in bytes. room() > 0.
  std::size_t add(std::uint32_t flow, const FlowStream& stream, Duration at,
                  SendStamp& stamp) noexcept {
    if (count_ == 0) refill();
    const FrameTemplate& frame = stream.frame();
    const std::size_t size = frame.size(stream.moving());
    note(departures_[count_++], flow, at, stream, size);
    if (made_ == have_) [[unlikely]]
      return size;
    rte_mbuf* buffer = buffers_[made_++];
    auto* room = static_cast<std::byte*>(buffer->buf_addr);
    const std::byte* start =
        frame.make(stream.moving(), stamp, room + SendBuffers::kPayloadAt, pool_->imprint(buffer));
    buffer->data_off = static_cast<std::uint16_t>(start - room);
    buffer->data_len = static_cast<std::uint16_t>(size);
    buffer->pkt_len = buffer->data_len;
    audit_->look_at({start, size});
    return size;
  }

  struct Outcome {
    std::span<const Departure> sent, given_up;
    std::int64_t wall_clock_ns = 0;  // just before the port got them; with copies only
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
  std::size_t count_ = 0;            // frames of the burst
  std::size_t made_ = 0, have_ = 0;  // of them in buffers; buffers at hand
  bool stuck_ = false;
  std::vector<std::vector<std::byte>> copies_;
};

}  // namespace lw::gen
