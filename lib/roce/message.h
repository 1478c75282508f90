// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "roce/frame.h"

namespace lw::roce {

/// A message of any operation and size: a work request or its response.
struct MessageFields {
  wire::Transport transport = wire::Transport::rc;
  wire::Operation operation = wire::Operation::send;
  bool immediate = false;
  bool invalidate = false;   // SEND with invalidate; not together with immediate
  std::uint64_t length = 0;  // payload in bytes; for READ REQUEST and FLUSH, that of the RETH
  std::uint32_t mtu = 1024;  // 256, 512, 1024, 2048 or 4096
  wire::Psn first_psn{};
  bool solicited_event = false;
  /// Interval of AckReq within a request, in packets; the last packet always has AckReq. 0: only
  /// the last packet. (Linux rxe uses 64.)
  std::uint32_t ack_every = 0;
};

/// The properties of a packet that change from packet to packet within a message.
struct MessagePacket {
  std::uint8_t opcode = 0;
  wire::Psn psn;
  std::uint64_t offset = 0;   // offset of the payload in the message, in bytes
  std::uint32_t payload = 0;  // payload in bytes, without pad
  std::uint8_t pad = 0;       // 0..3
  bool ack_req = false;
  bool solicited_event = false;
};

/// Returns an empty string if the message can be sent, otherwise the reason: an operation that the
/// transport lacks, a datagram longer than the MTU, a message longer than 2^31 bytes, a bad MTU.
std::string refusal_of(const MessageFields& message);

/// Number of packets of the message, which refusal_of() must accept.
std::uint32_t packet_count(const MessageFields& message) noexcept;

/// Number of PSNs of the message: its packets; for a READ REQUEST, those of its response.
std::uint32_t psn_count(const MessageFields& message) noexcept;

/// Packet `index` of packet_count(), independent of the packets before it.
MessagePacket packet_of(const MessageFields& message, std::uint32_t index) noexcept;

/// Pad bytes of a payload: -length modulo 4.
constexpr std::uint8_t pad_of(std::uint64_t length) noexcept {
  return static_cast<std::uint8_t>(-length & 3);
}

}  // namespace lw::roce
