// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/list/words.h"

#include <array>

#include <fmt/format.h>

#include "core/quantity.h"
#include "wire/cm.h"

namespace lw::dissect {
namespace {

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

std::string other_kind(const roce::Envelope& envelope) {
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

std::string_view name_of(wire::NakCode code) noexcept {
  switch (code) {
    case wire::NakCode::psn_sequence_error:
      return "PSN sequence error";
    case wire::NakCode::invalid_request:
      return "invalid request";
    case wire::NakCode::remote_access_error:
      return "remote access error";
    case wire::NakCode::remote_operational_error:
      return "remote operational error";
    case wire::NakCode::invalid_rd_request:
      return "invalid RD request";
  }
  return "reserved code";
}

/// The AETH counts credits in steps: code c stands for so many. (IBTA vol. 1, table 46)
unsigned credits_of(unsigned code) noexcept {
  constexpr std::array<std::uint16_t, 31> kCredits = {
      0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
      256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
  return kCredits[code];
}

void add(std::string& text, const std::string& part) {
  text.append(text.empty() ? "" : "  ") += part;
}

void add_memory(std::string& text, const roce::Frame& frame) {
  if (frame.feth) {
    const auto feth = frame.feth->fields();
    add(text, fmt::format("placement {} selectivity {}", feth.placement, feth.selectivity));
  }
  if (frame.reth) {
    add(text, fmt::format("va {:#x} rkey {:#x} dmalen {}", frame.reth->va.get(),
                          frame.reth->r_key.get(), frame.reth->dma_length.get()));
  }
  if (frame.atomiceth) {
    const auto& atomic = *frame.atomiceth;
    const bool swaps = frame.info->operation == wire::Operation::cmp_swap;
    add(text, fmt::format("va {:#x} rkey {:#x}", atomic.va.get(), atomic.r_key.get()));
    add(text, swaps ? fmt::format("compare {:#x} swap {:#x}", atomic.compare.get(),
                                  atomic.swap_or_add.get())
                    : fmt::format("add {:#x}", atomic.swap_or_add.get()));
  }
}

void add_mad(std::string& text, const wire::Mad& mad) {
  const auto name = mad.management_class.get() == wire::kMadClassCommunication
                        ? wire::name_of(static_cast<wire::CmMessage>(mad.attribute_id.get()))
                        : std::string_view{};
  add(text, name.empty() ? fmt::format("MAD class {:#04x} attribute {:#06x}",
                                       mad.management_class.get(), mad.attribute_id.get())
                         : fmt::format("CM {}", name));
}

void add_extensions(std::string& text, const roce::Frame& frame) {
  if (frame.rdeth) add(text, fmt::format("eecnxt {:#x}", frame.rdeth->ee_context.get()));
  if (frame.deth) {
    add(text,
        fmt::format("qkey {:#x} srcqp {:#x}", frame.deth->q_key.get(), frame.deth->src_qp.get()));
  }
  if (frame.xrceth) add(text, fmt::format("xrcsrq {:#x}", frame.xrceth->xrc_srq.get()));
  add_memory(text, frame);
  if (frame.aeth) add(text, words_of(*frame.aeth));
  if (frame.atomicacketh) {
    add(text, fmt::format("original {:#x}", frame.atomicacketh->original.get()));
  }
  if (frame.immdt) add(text, fmt::format("imm {:#x}", frame.immdt->immediate.get()));
  if (frame.ieth) add(text, fmt::format("invalidate rkey {:#x}", frame.ieth->r_key.get()));
  if (frame.mad) add_mad(text, *frame.mad);
}

void add_marks(std::string& text, const roce::Frame& frame) {
  const wire::Bth& bth = *frame.bth;
  const roce::Envelope& envelope = frame.envelope;
  if (bth.solicited_event()) add(text, "SE");
  if (bth.ack_req()) add(text, "AckReq");
  if (bth.p_key.get() != wire::kDefaultPKey) add(text, fmt::format("pkey {:#x}", bth.p_key.get()));
  if (bth.version() != 0) add(text, fmt::format("tver {}", bth.version()));
  if (bth.fecn()) add(text, "FECN");
  if (bth.becn()) add(text, "BECN");
  constexpr std::uint8_t kCongestionExperienced = 3;
  if (envelope.ecn() == kCongestionExperienced) add(text, "CE");
  if (envelope.dscp() != 0) add(text, fmt::format("dscp {}", envelope.dscp()));
  for (int i = 0; i < envelope.vlan_count; ++i) {
    add(text, fmt::format("vlan {}", envelope.vlans[i]->id()));
  }
}

void add_icrc(std::string& text, const Dissection& dissection) {
  if (dissection.icrc != roce::IcrcVerdict::bad) return;
  const auto place = roce::expected_icrc(dissection.captured.envelope);
  const auto found = wire::view_at<wire::Be32>(dissection.captured.record.bytes, place->offset);
  add(text, fmt::format("ICRC BAD: expected {:08x}, found {:08x}",
                        __builtin_bswap32(place->expected), found->get()));
}

}  // namespace

std::string kind_of(const Dissection& dissection) {
  if (dissection.icrc == roce::IcrcVerdict::not_roce)
    return other_kind(dissection.captured.envelope);
  if (!dissection.frame) return "RoCE (no BTH)";
  const roce::Frame& frame = *dissection.frame;
  if (frame.info) return std::string(frame.info->name);
  return fmt::format("opcode {:#04x} (reserved)", frame.bth->opcode.get());
}

std::string words_of(const wire::Aeth& aeth) {
  const std::uint8_t value = aeth.value();
  const std::uint32_t msn = aeth.msn.get();
  switch (aeth.kind()) {
    case wire::AethKind::ack:
      if (value == wire::Aeth::kUnlimitedCredits) return fmt::format("ACK msn {}", msn);
      return fmt::format("ACK msn {} credits {}", msn, credits_of(value));
    case wire::AethKind::rnr_nak:
      return fmt::format("RNR NAK msn {} wait {}", msn, format_duration(wire::rnr_timer(value)));
    case wire::AethKind::nak:
      return fmt::format("NAK msn {}: {}", msn, name_of(static_cast<wire::NakCode>(value)));
    case wire::AethKind::reserved:
      break;
  }
  return fmt::format("reserved syndrome {:#04x} msn {}", aeth.syndrome.get(), msn);
}

std::string details_of(const Dissection& dissection) {
  std::string text;
  if (dissection.icrc == roce::IcrcVerdict::not_roce) return text;
  if (!dissection.frame) return roce::to_string(dissection.frame.error());
  const roce::Frame& frame = *dissection.frame;
  add_extensions(text, frame);
  const bool carries = frame.info && frame.info->payload != wire::PayloadRule::none;
  if (carries && frame.payload_length > 0) add(text, fmt::format("len {}", frame.payload_length));
  add_marks(text, frame);
  if (frame.defect) add(text, fmt::format("[{}]", roce::to_string(*frame.defect)));
  add_icrc(text, dissection);
  return text;
}

}  // namespace lw::dissect
