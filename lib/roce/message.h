// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "wire/opcode.h"
#include "wire/psn.h"

namespace lw::roce {

/// A message of any operation and size, as a work request or its answer describes it.
struct Message {
  wire::Transport transport = wire::Transport::rc;
  wire::Operation operation = wire::Operation::send;
  bool immediate = false;
  bool invalidate = false;   // SEND with invalidate; not together with immediate
  std::uint64_t length = 0;  // bytes of payload; of a READ REQUEST, FLUSH: what the RETH asks for
  std::uint32_t mtu = 1024;  // 256, 512, 1024, 2048 or 4096
  wire::Psn first_psn{};
  bool solicited_event = false;
  /// AckReq is set on a request's last packet, and after so many without one; 0: on the last only.
  /// (64 is Linux rxe's.)
  std::uint32_t ack_every = 0;
};

/// One packet of a message, everything that differs from its neighbours.
struct MessagePacket {
  std::uint8_t opcode = 0;
  wire::Psn psn;
  std::uint64_t offset = 0;   // of its payload within the message
  std::uint32_t payload = 0;  // bytes, pad not counted
  std::uint8_t pad = 0;       // 0..3
  bool ack_req = false;
  bool solicited_event = false;
};

/// Nothing when the message can be sent; otherwise one sentence that says why not: an operation
/// that the transport lacks, a datagram above the MTU, a message above 2^31 bytes, a bad MTU.
std::string refusal_of(const Message& message);

/// How many packets carry it. The message must not be refused.
std::uint32_t packet_count(const Message& message) noexcept;

/// How many PSNs it takes: its packets; for a READ REQUEST those of its response.
std::uint32_t psn_count(const Message& message) noexcept;

/// Packet `index` of packet_count(), by itself: nothing before it needs to be built.
MessagePacket packet_of(const Message& message, std::uint32_t index) noexcept;

/// -length modulo 4.
constexpr std::uint8_t pad_of(std::uint64_t length) noexcept {
  return static_cast<std::uint8_t>(-length & 3);
}

}  // namespace lw::roce
