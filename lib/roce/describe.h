// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "roce/frame.h"

namespace lw::roce {

/// "ICMP", "IP protocol 200"; "ARP", "ethertype 0x88b5".
std::string protocol_name(std::uint8_t protocol);
std::string ether_type_name(std::uint16_t type);

/// Protocol of a frame that isn't RoCE: "TCP", "ARP", "ethertype 0x88cc", "UDP 68 > 67".
std::string protocol_of(const Envelope& envelope);
/// "RC WRITE FIRST", "opcode 0x1f (reserved)".
std::string opcode_text(std::uint8_t opcode);
/// "ACK msn 7 credits 32", "RNR NAK msn 3 wait 655.36 ms", "NAK msn 3: PSN sequence error".
std::string aeth_text(const wire::AethFields& aeth);

/// A frame in one line: opcode, destination QP, PSN, the fields of its extension headers, payload
/// length, marks (SE, AckReq, FECN, BECN, CE, DSCP, VLAN), its defect, and `remark`.
std::string describe(const Frame& frame, std::string_view remark = {});

}  // namespace lw::roce
