// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "transport/fifo.h"
#include "transport/memory.h"
#include "transport/opcode_set.h"
#include "transport/packet.h"
#include "transport/qp_config.h"
#include "transport/work.h"
#include "wire/aeth.h"

namespace lw::transport {

/// Why a request packet can't be executed.
enum class Refusal : std::uint8_t {
  none,
  no_receive,       // RNR
  invalid_request,  // out of place in its message, or a wrong length
  access_error,     // the memory isn't the peer's to touch
};

/// Puts SENDs and WRITEs into memory, packet by packet in order, whatever the service: holds
/// lengths and places against the rules, takes receives, and tells of whole messages.
/// (IBTA vol. 1, 9.7.4.1)
class MessageSink {
 public:
  MessageSink(const QpConfig& config, Memory& memory, PayloadStore& store)
      : config_(config), memory_(memory), store_(store) {}

  void post(const Receive& receive) { receives_.push(receive); }
  [[nodiscard]] std::size_t receives() const noexcept { return receives_.size(); }

  /// Whether a packet of this meaning may come next; before anything else is looked at.
  [[nodiscard]] bool in_place(const OpcodeMeaning& meaning) const noexcept;
  /// Executes a SEND or WRITE packet that is in_place(). Nothing is stored when it is refused.
  Refusal take(const Packet& packet, const OpcodeMeaning& meaning, Instant now);
  /// Forgets a message of which a part is missing; its receive, if it took one, is there again.
  void abandon();
  [[nodiscard]] bool open() const noexcept { return open_; }

  Fifo<Completion>& arrivals() noexcept { return arrivals_; }
  /// Messages that arrived whole.
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }

 private:
  [[nodiscard]] Refusal check_length(const Packet& packet, wire::Position position) const noexcept;
  Refusal begin(const Packet& packet, const OpcodeMeaning& meaning);
  [[nodiscard]] bool lacks_receive() const noexcept {
    return !config_.endless_receives && receives_.empty();
  }
  void finish(const Packet& packet, const OpcodeMeaning& meaning, Instant now);

  QpConfig config_;
  Memory& memory_;
  PayloadStore& store_;
  Fifo<Receive> receives_;  // the front one is the open SEND's
  Fifo<Completion> arrivals_;

  bool open_ = false;
  wire::Operation operation_{};
  std::uint64_t va_ = 0;
  std::uint64_t room_ = 0;  // of a WRITE: its length; of a SEND: the receive's
  std::uint64_t got_ = 0;
  std::uint64_t messages_ = 0, payload_bytes_ = 0;
};

}  // namespace lw::transport
