// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "analysis/packet.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

bool is_read(std::uint8_t opcode) noexcept;
/// Whether it is CMP_SWAP, FETCH_ADD, ATOMIC WRITE or FLUSH, which have one response of their own.
bool is_atomic(std::uint8_t opcode) noexcept;
/// Whether a response answers the request with its PSN. Without its AETH, an ACK may be a NAK.
bool answers(const CapturedPacket& response) noexcept;

/// The following functions say what is wrong with a request, as text; empty: nothing.
///
/// Checks the order of a request after `before`: a MIDDLE or LAST needs an open message of its
/// operation, others need none open. (IBTA vol. 1, 9.7.4.1.1)
std::string wrong_order(const wire::OpcodeInfo& before, const CapturedPacket& packet);
/// Checks payload and pad bytes against the opcode and the path MTU, if known. (9.7.4.1.5)
std::string wrong_lengths(const CapturedPacket& packet, std::optional<std::uint32_t> mtu);
/// Checks a PSN that was sent before for another request. `at`: PSNs of `known` before that of
/// `packet`; a READ may be repeated from there on.
std::string wrong_repetition(const CapturedPacket& packet, const Sent& known, std::uint64_t at);

}  // namespace lw::analysis
