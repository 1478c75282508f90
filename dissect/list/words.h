// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "dissect/fields/fields.h"

namespace lw::dissect {

/// "RC WRITE FIRST", "opcode 0x1f (reserved)", "TCP", "ARP", "ethertype 0x88cc", "UDP 68 > 67":
/// what the frame is, for the frames of any protocol.
std::string kind_of(const Dissection& dissection);

/// "ACK, credits unlimited, msn 3", "RNR NAK, wait 655.36 ms, msn 3", "NAK PSN sequence error".
std::string words_of(const wire::Aeth& aeth);

/// All that matters of a RoCE frame behind its BTH: addresses and keys, acknowledgements,
/// immediates, lengths, marks, and what is wrong with it.
std::string details_of(const Dissection& dissection);

}  // namespace lw::dissect
