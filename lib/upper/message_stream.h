// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "analysis/extraction/request_order.h"
#include "analysis/packet.h"
#include "upper/message.h"

namespace lw::upper {

/// Makes messages of the packets of one direction's requests and of the responses to them. The
/// messages come in the order of their PSNs, each once, when its last packet has passed the point.
/// Reads no clock, no I/O.
class MessageStream {
 public:
  using OnMessage = std::function<void(const UpperMessage&)>;

  /// `waiting_bytes` counts the payload that waits, in all streams that share it. `on_message` gets
  /// each message, whose data it may use during the call.
  MessageStream(std::uint8_t direction, std::size_t& waiting_bytes, OnMessage on_message)
      : direction_(direction), order_(waiting_bytes), on_message_(std::move(on_message)) {}

  /// A request. `mtu`: of the requests' flow, 0 if unknown; `first_psn`: the lowest known PSN of
  /// the flow.
  void request(const analysis::CapturedPacket& packet, Bytes bytes, std::uint32_t mtu,
               std::uint32_t first_psn);
  /// A response to the requests.
  void response(const analysis::CapturedPacket& packet, Bytes bytes);
  /// The capture has ended: passes what still waits.
  void finish();

 private:
  using Sequence = analysis::Sequence;

  /// A READ and its response.
  struct Read {
    UpperMessage message = {};
    Sequence psn = 0;
    std::uint32_t span = 1;
    Sequence next = 0;      // one past the highest response
    Instant progress = {};  // of the last packet that brought it forward
    std::vector<std::byte> data = {};
    bool done = false;
  };
  /// PSNs that were passed over, by their last one.
  struct Skipped {
    Sequence first = 0;
    Instant stamp;  // of the packet that passed them
    std::uint64_t frame = 0;
  };

  [[nodiscard]] Sequence unwrap(std::uint32_t psn) const noexcept;
  void note_reached(const analysis::CapturedPacket& packet, Sequence psn);
  [[nodiscard]] Instant reached(const analysis::CapturedPacket& packet,
                                Sequence psn) const noexcept;
  void append(const analysis::CapturedPacket& packet, Sequence psn, Bytes bytes);
  void drain();
  void open(const analysis::CapturedPacket& packet, Sequence psn);
  void close();
  void begin_read(const analysis::CapturedPacket& packet, Sequence psn);
  void repeated(const analysis::CapturedPacket& packet, Sequence psn);
  void note_repeated(PassTimes& passage, const analysis::CapturedPacket& packet) const noexcept;
  void needed_again(PassTimes& passage, const analysis::CapturedPacket& packet) const noexcept;
  void repeated_read(const analysis::CapturedPacket& packet, Sequence psn);
  void acknowledge(Sequence up_to, Instant now);
  void confirm(Sequence up_to, Instant now);
  void read_response(const analysis::CapturedPacket& packet, Sequence psn, Bytes bytes);
  void answer_again(Read& read, const analysis::CapturedPacket& packet, Sequence psn);
  [[nodiscard]] Read* read_at(Sequence psn) noexcept;

  std::uint8_t direction_;
  analysis::RequestOrder order_;
  OnMessage on_message_;
  std::optional<Sequence> newest_;
  std::map<Sequence, Skipped> skipped_;
  Instant delivered_;  // the newest stamp of the packets in order
  Instant previous_;   // that before the last packet
  bool begun_ = false;
  std::uint32_t mtu_ = 0;
  std::optional<UpperMessage> open_;
  std::vector<std::byte> data_;  // of the open message, up to where the capture cuts a packet
  bool cut_ = false;             // it does
  std::deque<PassagePtr> unacknowledged_;
  std::deque<PassagePtr> acknowledged_;  // by an ACK that may be lost behind the point
  Sequence acknowledged_to_ = 0;
  std::deque<Read> reads_;
};

}  // namespace lw::upper
