// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "transport/fifo.h"
#include "transport/memory.h"
#include "transport/packet.h"
#include "transport/qp_config.h"
#include "transport/work.h"
#include "wire/aeth.h"

namespace lw::transport {

/// Reason why a request packet isn't executed.
enum class Refusal : std::uint8_t {
  none,
  no_receive,       // RNR
  invalid_request,  // wrong position in its message, or wrong length
  access_error,     // the peer may not access this memory
};

/// Writes SENDs and WRITEs into memory, packet by packet in order, for all transports: checks
/// lengths and positions, consumes receives, and reports complete messages. (IBTA vol. 1, 9.7.4.1)
class MessageSink {
 public:
  MessageSink(const QpConfig& config, Memory& memory, PayloadStore& store)
      : config_(config), memory_(memory), store_(store) {}

  void post(const Receive& receive) { receives_.push(receive); }
  [[nodiscard]] std::size_t receives() const noexcept { return receives_.size(); }

  /// Whether a packet with this opcode may come next. Checked first.
  [[nodiscard]] bool in_place(const OpcodeMeaning& meaning) const noexcept;
  /// Executes a SEND or WRITE packet. Requires in_place(). Stores nothing when it refuses.
  Refusal take(const Packet& packet, const OpcodeMeaning& meaning, Instant now);
  /// Drops the incomplete message. Its receive, if it has one, becomes available again.
  void abandon();
  [[nodiscard]] bool open() const noexcept { return open_; }

  Fifo<Completion>& arrivals() noexcept { return arrivals_; }
  /// Complete messages received.
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }

 private:
  [[nodiscard]] bool right_length(const Packet& packet,
                                  const OpcodeMeaning& meaning) const noexcept;
  Refusal begin(const Packet& packet, const OpcodeMeaning& meaning);
  Refusal begin_send();
  [[nodiscard]] bool lacks_receive() const noexcept {
    return !config_.endless_receives && receives_.empty();
  }
  void tell(const Packet& packet, const OpcodeMeaning& meaning, Instant now);

  QpConfig config_;
  Memory& memory_;
  PayloadStore& store_;
  Fifo<Receive> receives_;  // the front one belongs to the open SEND
  Fifo<Completion> arrivals_;

  bool open_ = false;
  wire::Operation operation_{};
  std::uint64_t va_ = 0;
  std::uint64_t room_ = 0;  // a WRITE's length, or the length of a SEND's receive
  std::uint64_t got_ = 0;
  std::uint64_t messages_ = 0, payload_bytes_ = 0;
};

// In the header because each packet that a simulation delivers passes through them.

inline bool MessageSink::in_place(const OpcodeMeaning& meaning) const noexcept {
  if (meaning.begins) return !open_;
  return open_ && meaning.operation == operation_;
}

inline bool MessageSink::right_length(const Packet& packet,
                                      const OpcodeMeaning& meaning) const noexcept {
  if (!meaning.ends) return packet.payload == config_.mtu;
  const bool empty_last = !meaning.begins && packet.payload == 0;
  return packet.payload <= config_.mtu && !empty_last;
}

/// Starts a message: finds its memory.
inline Refusal MessageSink::begin(const Packet& packet, const OpcodeMeaning& meaning) {
  operation_ = meaning.operation;
  got_ = 0;
  if (meaning.operation != wire::Operation::write) return begin_send();
  if (!memory_.allows(packet.r_key, packet.va, packet.length)) return Refusal::access_error;
  va_ = packet.va;
  room_ = packet.length;
  return Refusal::none;
}

inline Refusal MessageSink::take(const Packet& packet, const OpcodeMeaning& meaning, Instant now) {
  if (!right_length(packet, meaning)) return Refusal::invalid_request;
  if (meaning.begins) {
    if (const auto refusal = begin(packet, meaning); refusal != Refusal::none) return refusal;
  }
  const bool ends = meaning.ends;
  const bool write = meaning.operation == wire::Operation::write;
  const std::uint64_t got = got_ + packet.payload;
  if (got > room_ || (ends && write && got != room_)) return Refusal::invalid_request;
  if (ends && write && meaning.immediate && lacks_receive()) return Refusal::no_receive;
  if (write || !config_.endless_receives) {
    memory_.store(va_ + got_, packet.data, packet.payload, store_);
  }
  got_ = got;
  payload_bytes_ += packet.payload;
  open_ = !ends;
  if (!ends) return Refusal::none;
  ++messages_;
  if (!write || meaning.immediate || config_.report_writes) tell(packet, meaning, now);
  return Refusal::none;
}

}  // namespace lw::transport
