// SPDX-License-Identifier: BSD-3-Clause
#include "roce/describe.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/quantity.h"
#include "wire/cm.h"

namespace lw::roce {

std::string protocol_name(std::uint8_t protocol) {
  switch (protocol) {
    case 1:
      return "ICMP";
    case 2:
      return "IGMP";
    case 6:
      return "TCP";
    case 47:
      return "GRE";
    case 58:
      return "ICMPv6";
    default:
      return fmt::format("IP protocol {}", protocol);
  }
}

std::string ether_type_name(std::uint16_t type) {
  switch (type) {
    case 0x0806:
      return "ARP";
    case 0x88cc:
      return "LLDP";
    case 0x8808:
      return "MAC control";
    default:
      // Below 0x600 it is the length of an 802.3 frame. (IEEE 802.3, 3.2.6)
      return type < 0x600 ? "802.3" : fmt::format("ethertype {:#06x}", type);
  }
}

namespace {

using wire::FieldValue;

std::string_view nak_text(std::uint8_t code) noexcept {
  constexpr std::array<std::string_view, 5> kTexts = {
      "PSN sequence error", "invalid request", "remote access error", "remote operational error",
      "invalid RD request"};
  return code < kTexts.size() ? kTexts[code] : "reserved code";
}

/// Credits of a credit code. (IBTA vol. 1, table 46)
unsigned credits_of(unsigned code) noexcept {
  constexpr std::array<std::uint16_t, 31> kCredits = {
      0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
      256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
  return kCredits[code];
}

void add_part(std::string& text, std::string_view separator, std::string_view part) {
  if (!text.empty() && !part.empty()) text += separator;
  text += part;
}

/// Text of the header's fields that have a label: "va 0x1000 rkey 0x12 dmalen 64".
template <class Fields, class Table>
std::string table_text(const Table& table, const Fields& values) {
  std::string text;
  for (const wire::FieldOf<Fields>& field : table) {
    if (field.text.empty()) continue;
    const FieldValue value = field.get(values);
    add_part(text, " ", fmt::format(fmt::runtime(field.text), std::get<std::uint64_t>(value)));
  }
  return text;
}

template <class Header>
std::string header_text(const Frame&, const Header& header) {
  return table_text(Header::kFields, header.fields());
}

std::string header_text(const Frame&, const wire::Aeth& header) {
  return aeth_text(header.fields());
}

std::string header_text(const Frame& frame, const wire::AtomicEth& header) {
  const wire::AtomicEthFields atomic = header.fields();
  const std::string memory = table_text(wire::AtomicEth::kFields, atomic);
  if (frame.info->operation != wire::Operation::cmp_swap) {
    return fmt::format("{}  add {:#x}", memory, atomic.swap_or_add);
  }
  return fmt::format("{}  compare {:#x} swap {:#x}", memory, atomic.compare, atomic.swap_or_add);
}

std::string mad_text(const wire::Mad& mad) {
  const auto name = mad.management_class.get() == wire::kMadClassCommunication
                        ? wire::name_of(static_cast<wire::CmMessage>(mad.attribute_id.get()))
                        : std::string_view{};
  return name.empty() ? fmt::format("MAD class {:#04x} attribute {:#06x}",
                                    mad.management_class.get(), mad.attribute_id.get())
                      : fmt::format("CM {}", name);
}

std::string extensions_text(const Frame& frame) {
  std::string text;
  wire::for_each_extension(
      [&]<class Header>(wire::Extension, const Header* header) {
        if (header) add_part(text, "  ", header_text(frame, *header));
      },
      frame);
  if (frame.mad) add_part(text, "  ", mad_text(*frame.mad));
  return text;
}

void add_marks(std::string& text, const Frame& frame) {
  const wire::Bth& bth = *frame.bth;
  const Envelope& envelope = frame.envelope;
  const auto add = [&](std::string_view part) { add_part(text, "  ", part); };
  if (bth.solicited_event()) add("SE");
  if (bth.ack_req()) add("AckReq");
  if (bth.p_key.get() != wire::kDefaultPKey) add(fmt::format("pkey {:#x}", bth.p_key.get()));
  if (bth.version() != 0) add(fmt::format("tver {}", bth.version()));
  if (bth.fecn()) add("FECN");
  if (bth.becn()) add("BECN");
  constexpr std::uint8_t kCongestionExperienced = 3;
  if (envelope.ecn() == kCongestionExperienced) add("CE");
  if (envelope.dscp() != 0) add(fmt::format("dscp {}", envelope.dscp()));
  for (int i = 0; i < envelope.vlan_count; ++i) {
    add(fmt::format("vlan {}", envelope.vlans[i]->id()));
  }
}

}  // namespace

std::string protocol_of(const Envelope& envelope) {
  if (envelope.network_end == 0) {
    return envelope.ethernet ? ether_type_name(envelope.ether_type) : "unknown";
  }
  if (envelope.fragment) return "IP fragment";
  if (envelope.udp) {
    return fmt::format("UDP {} > {}", envelope.udp->source_port.get(),
                       envelope.udp->destination_port.get());
  }
  if (envelope.grh) return fmt::format("GRH, next header {:#04x}", envelope.protocol);
  return envelope.protocol == wire::kProtocolUdp ? "UDP (cut)" : protocol_name(envelope.protocol);
}

std::string opcode_text(std::uint8_t opcode) {
  const wire::OpcodeInfo* info = wire::find_opcode(opcode);
  return info ? std::string(info->name) : fmt::format("opcode {:#04x} (reserved)", opcode);
}

std::string aeth_text(const wire::AethFields& aeth) {
  const std::uint8_t value = aeth.syndrome & wire::Aeth::kValue;
  switch (aeth.kind()) {
    case wire::AethKind::ack:
      if (value == wire::Aeth::kUnlimitedCredits) return fmt::format("ACK msn {}", aeth.msn);
      return fmt::format("ACK msn {} credits {}", aeth.msn, credits_of(value));
    case wire::AethKind::rnr_nak:
      return fmt::format("RNR NAK msn {} wait {}", aeth.msn,
                         format_set_duration(wire::rnr_timer(value)));
    case wire::AethKind::nak:
      return fmt::format("NAK msn {}: {}", aeth.msn, nak_text(value));
    case wire::AethKind::reserved:
      break;
  }
  return fmt::format("reserved syndrome {:#04x} msn {}", aeth.syndrome, aeth.msn);
}

std::string describe(const Frame& frame, std::string_view remark) {
  const wire::Bth& bth = *frame.bth;
  std::string details = extensions_text(frame);
  const bool carries = frame.info && frame.info->payload != wire::PayloadRule::none;
  if (carries && frame.payload_length > 0) {
    add_part(details, "  ", fmt::format("len {}", frame.payload_length));
  }
  add_marks(details, frame);
  if (frame.defect) add_part(details, "  ", fmt::format("[{}]", defect_text(frame)));
  add_part(details, "  ", remark);
  std::string text = fmt::format("{:<21} qp {:#08x} psn {:<8}  {}", opcode_text(bth.opcode.get()),
                                 bth.dest_qp.get(), bth.psn().value(), details);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace lw::roce
