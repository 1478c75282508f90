// SPDX-License-Identifier: BSD-3-Clause
#include "roce/compose.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "roce/message.h"
#include "wire/icrc.h"

namespace lw::roce {
namespace {

using wire::Encapsulation;
using wire::MutableBytes;

bool has_udp(const FrameFields& fields) noexcept {
  return fields.encapsulation != Encapsulation::grh;
}

std::uint16_t network_type(Encapsulation encapsulation) noexcept {
  switch (encapsulation) {
    case Encapsulation::ipv4:
      return wire::kEtherTypeIpv4;
    case Encapsulation::ipv6:
      return wire::kEtherTypeIpv6;
    case Encapsulation::grh:
      return wire::kEtherTypeRoceV1;
  }
  return 0;
}

/// The outer of two tags is a service tag, the inner, or only, one a customer tag.
std::uint16_t tag_type(std::size_t index, std::size_t count) noexcept {
  return index + 1 < count ? wire::kEtherTypeQinq : wire::kEtherTypeVlan;
}

void write_link(const FrameFields& fields, MutableBytes out) noexcept {
  const std::size_t tags = fields.vlans.size();
  const std::uint16_t inner = network_type(fields.encapsulation);
  wire::view<wire::Ethernet>(out)->set(
      {fields.destination_mac, fields.source_mac, tags == 0 ? inner : tag_type(0, tags)});
  for (std::size_t i = 0; i < tags; ++i) {
    wire::VlanFields tag = fields.vlans[i];
    tag.type = i + 1 < tags ? tag_type(i + 1, tags) : inner;
    wire::view_at<wire::Vlan>(out, sizeof(wire::Ethernet) + i * sizeof(wire::Vlan))->set(tag);
  }
}

void write_ipv4(const FrameFields& fields, const FrameLayout& layout, MutableBytes out) noexcept {
  wire::Ipv4Fields ip = fields.ipv4;
  ip.header_words = sizeof(wire::Ipv4) / 4;
  ip.protocol = wire::kProtocolUdp;
  ip.total_length = static_cast<std::uint16_t>(layout.size - layout.network);
  const MutableBytes header = out.subspan(layout.network, sizeof(wire::Ipv4));
  auto* view = wire::view<wire::Ipv4>(header);
  view->set(ip);
  view->checksum.set(wire::ipv4_checksum(header));
}

void write_ipv6(const FrameFields& fields, const FrameLayout& layout, MutableBytes out) noexcept {
  wire::Ipv6Fields ip = fields.ipv6;
  ip.next_header = has_udp(fields) ? wire::kProtocolUdp : wire::kNextHeaderBth;
  ip.payload_length = static_cast<std::uint16_t>(layout.size - layout.network - sizeof(wire::Ipv6));
  wire::view_at<wire::Ipv6>(out, layout.network)->set(ip);
}

void write_udp(const FrameFields& fields, const FrameLayout& layout, MutableBytes out) noexcept {
  wire::view_at<wire::Udp>(out, layout.udp)
      ->set({fields.source_port, wire::kRoceV2Port,
             static_cast<std::uint16_t>(layout.size - layout.udp), 0});
}

void write_transport(const FrameFields& fields, const FrameLayout& layout,
                     MutableBytes out) noexcept {
  wire::BthFields bth = fields.bth;
  bth.pad_count = static_cast<std::uint8_t>(layout.pad);
  wire::view_at<wire::Bth>(out, layout.bth)->set(bth);

  const auto extensions = wire::find_opcode(bth.opcode)->extensions;
  std::size_t offset = layout.bth + sizeof(wire::Bth);
  wire::for_each_extension(
      [&]<class Header>(wire::Extension extension, const typename Header::Fields& values) {
        if (!extensions.has(extension)) return;
        wire::view_at<Header>(out, offset)->set(values);
        offset += sizeof(Header);
      },
      fields);
}

}  // namespace

FrameLayout layout_of(const FrameFields& fields, std::size_t payload_length) noexcept {
  const wire::OpcodeInfo* info = wire::find_opcode(fields.bth.opcode);
  assert(info != nullptr);
  const bool v4 = fields.encapsulation == Encapsulation::ipv4;
  FrameLayout layout;
  layout.network = sizeof(wire::Ethernet) + fields.vlans.size() * sizeof(wire::Vlan);
  layout.udp = layout.network + (v4 ? sizeof(wire::Ipv4) : sizeof(wire::Ipv6));
  layout.bth = layout.udp + (has_udp(fields) ? sizeof(wire::Udp) : 0);
  layout.payload = layout.bth + sizeof(wire::Bth) + info->extensions.size();
  layout.pad = pad_of(payload_length);
  layout.icrc = layout.payload + payload_length + layout.pad;
  layout.size = layout.icrc + wire::kIcrcSize;
  return layout;
}

void compose(const FrameFields& fields, Bytes payload, MutableBytes out) noexcept {
  const FrameLayout layout = layout_of(fields, payload.size());
  assert(out.size() == layout.size);
  write_link(fields, out);
  fields.encapsulation == Encapsulation::ipv4 ? write_ipv4(fields, layout, out)
                                              : write_ipv6(fields, layout, out);
  if (has_udp(fields)) write_udp(fields, layout, out);
  write_transport(fields, layout, out);
  if (!payload.empty()) std::memcpy(out.data() + layout.payload, payload.data(), payload.size());
  std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(layout.payload + payload.size()),
              layout.pad, std::byte{0});
  const Bytes covered = out.subspan(layout.network, layout.icrc - layout.network);
  wire::store_icrc(out.subspan(layout.icrc, wire::kIcrcSize),
                   wire::icrc(fields.encapsulation, covered, layout.bth - layout.network));
}

std::vector<std::byte> compose(const FrameFields& fields, Bytes payload) {
  std::vector<std::byte> frame(layout_of(fields, payload.size()).size);
  compose(fields, payload, frame);
  return frame;
}

}  // namespace lw::roce
