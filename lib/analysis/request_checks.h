// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "analysis/packet.h"
#include "analysis/sent_log.h"

namespace lw::analysis {

bool is_read(std::uint8_t opcode) noexcept;
/// CMP_SWAP, FETCH_ADD, ATOMIC WRITE or FLUSH: one answer of its own.
bool is_atomic(std::uint8_t opcode) noexcept;

/// What is wrong with a request, in words; empty: nothing.
///
/// A request behind `before` in order: a MIDDLE or LAST needs an open message of its operation,
/// others need none open. (IBTA vol. 1, 9.7.4.1.1)
std::string wrong_order(const wire::OpcodeInfo& before, const Packet& packet);
/// Payload and pad bytes against the opcode and the path MTU, if it is known. (9.7.4.1.5)
std::string wrong_lengths(const Packet& packet, std::optional<std::uint32_t> mtu);
/// A PSN that was sent before, for another request: Linux rxe has done this.
std::string wrong_repetition(const Packet& packet, const Sent& known);

}  // namespace lw::analysis
