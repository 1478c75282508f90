// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "roce/envelope.h"
#include "wire/bth.h"

namespace lw::emulator {

/// The role of a RoCEv2 packet between the two ends of a QP. Every packet has exactly one kind.
enum class PacketKind : std::uint8_t {
  request,        // SEND, WRITE, READ REQUEST, atomics, FLUSH: uses PSNs of its own
  read_response,  // FIRST to ONLY
  ack,            // AETH syndrome ACK
  nak,            // AETH syndrome NAK: PSN sequence error, invalid request, ...
  rnr_nak,        // AETH syndrome RNR NAK: receiver not ready
  atomic_ack,     // the answer to CMP SWAP and FETCH ADD
  cnp,            // congestion notification
  cm,             // connection management datagram, on QP 1
  reserved,       // reserved opcode, or an ACK that ends before its AETH
};
inline constexpr std::size_t kPacketKinds = 9;

/// Returns the kind's name in profiles: "read_response".
std::string_view name_of(PacketKind kind) noexcept;

/// `bth` is bth_of(envelope), not null.
PacketKind kind_of(const roce::Envelope& envelope, const wire::Bth& bth) noexcept;

}  // namespace lw::emulator
