// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "roce/frame.h"

namespace lw::roce {

/// A field of a frame under Wireshark's filter name, its value as Wireshark prints it: "31",
/// "0x00001a", "10.0.0.1". The name has static lifetime.
struct NamedField {
  std::string_view name;
  std::string value;
  bool number = false;  // a decimal number, which JSON writes without quotes
};

/// The fields of a frame, in the order of its headers.
using FieldList = std::vector<NamedField>;

inline void add_number(FieldList& fields, std::string_view name, std::uint64_t value) {
  fields.push_back({name, std::to_string(value), true});
}
inline void add_text(FieldList& fields, std::string_view name, std::string value) {
  fields.push_back({name, std::move(value)});
}

/// Adds eth.*, vlan.*, ip.*, ipv6.*, udp.* and infiniband.grh.*.
void add_fields(FieldList& fields, const Envelope& envelope);
/// Adds infiniband.bth.* to infiniband.cm.*, and the captured ICRC.
void add_fields(FieldList& fields, const Frame& frame);
/// The fields that both add_fields() can add, in their order, each name once, without those of CM
/// messages and the ICRC.
std::vector<wire::FieldInfo> header_fields();
inline constexpr std::string_view kIcrcName = "infiniband.invariant.crc";

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
