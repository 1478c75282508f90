// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "roce/envelope.h"
#include "wire/bth.h"

namespace lw::emulator {

/// What a RoCEv2 packet is to the two ends of a QP. Each packet is exactly one of these.
enum class PacketKind : std::uint8_t {
  request,        // SEND, WRITE, READ REQUEST, atomics, FLUSH: has its own place in the PSN stream
  read_response,  // FIRST to ONLY
  ack,            // ACK whose AETH says so
  nak,            // ... or says NAK: PSN sequence error, invalid request, ...
  rnr_nak,        // ... or says: receiver not ready
  atomic_ack,     // the answer to CMP SWAP and FETCH ADD
  cnp,            // congestion notification
  cm,             // a connection manager's datagram, on QP 1
  reserved,       // an opcode that the specification reserves, or an ACK cut before its AETH
};
inline constexpr std::size_t kPacketKinds = 9;

/// A profile's word for it: "read_response".
std::string_view name_of(PacketKind kind) noexcept;

/// `bth` is bth_of(envelope), not null.
PacketKind kind_of(const roce::Envelope& envelope, const wire::Bth& bth) noexcept;

}  // namespace lw::emulator
