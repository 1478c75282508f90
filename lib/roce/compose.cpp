// SPDX-License-Identifier: BSD-3-Clause
#include "roce/compose.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "roce/frame.h"
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

/// Ethertype of a VLAN tag: the outer of two tags is a service tag; the inner tag, or a single tag,
/// is a customer tag.
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
  if (!payload.empty()) std::memcpy(out.data() + layout.payload, payload.data(), payload.size());
  compose_around(fields, layout, out);
}

void compose_around(const FrameFields& fields, const FrameLayout& layout,
                    MutableBytes out) noexcept {
  assert(out.size() == layout.size);
  write_link(fields, out);
  fields.encapsulation == Encapsulation::ipv4 ? write_ipv4(fields, layout, out)
                                              : write_ipv6(fields, layout, out);
  if (has_udp(fields)) write_udp(fields, layout, out);
  write_transport(fields, layout, out);
  std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(layout.icrc - layout.pad), layout.pad,
              std::byte{0});
  const Bytes covered = out.subspan(layout.network, layout.icrc - layout.network);
  wire::store_icrc(out.subspan(layout.icrc, wire::kIcrcSize),
                   wire::icrc(fields.encapsulation, covered, layout.bth - layout.network));
}

std::vector<std::byte> compose(const FrameFields& fields, Bytes payload) {
  std::vector<std::byte> frame(layout_of(fields, payload.size()).size);
  compose(fields, payload, frame);
  return frame;
}

namespace {

using wire::Ipv4Address;
using wire::Ipv6Address;

/// A byte as 16 bits of a one's complement sum: the high byte at an even distance from the start of
/// the sum, the low byte at an odd one.
std::uint16_t word_of(std::byte byte, std::size_t distance) noexcept {
  const auto value = std::to_integer<std::uint16_t>(byte);
  return static_cast<std::uint16_t>(distance % 2 == 0 ? value << 8 : value);
}

/// Changes bytes of a RoCE frame that its ICRC covers, and patches ICRC and checksums.
class Patcher {
 public:
  Patcher(wire::MutableBytes bytes, const Envelope& envelope, std::size_t icrc) noexcept
      : bytes_(bytes), envelope_(envelope), icrc_offset_(icrc) {
    if (envelope.udp) udp_ = wire::view_at<wire::Udp>(bytes, envelope.transport_offset);
    has_checksum_ = udp_ != nullptr && udp_->checksum.get() != 0;
    if (envelope.ipv4) ipv4_ = wire::view_at<wire::Ipv4>(bytes, envelope.network_offset);
  }

  /// `field` points into the frame and is covered by the ICRC, none of it masked.
  template <class Field>
  void set(const Field* field, const Field& value) noexcept {
    const auto at = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(field) -
                                             envelope_.bytes.data());
    const auto* source = reinterpret_cast<const std::byte*>(&value);
    for (std::size_t i = 0; i < sizeof(Field); ++i) replace(at + i, source[i]);
  }

  /// Writes the ICRC; nothing may be set after it.
  void finish() noexcept {
    if (icrc_change_ == 0) return;
    const auto place = bytes_.subspan(icrc_offset_, wire::kIcrcSize);
    std::array<std::byte, wire::kIcrcSize> fresh;
    wire::store_icrc(fresh, wire::load_icrc(place) ^ icrc_change_);
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      update_udp_checksum(icrc_offset_ + i, place[i], fresh[i]);
      place[i] = fresh[i];
    }
  }

 private:
  void replace(std::size_t at, std::byte fresh) noexcept {
    const std::byte old = bytes_[at];
    if (old == fresh) return;
    bytes_[at] = fresh;
    icrc_change_ ^=
        wire::icrc_change(std::to_integer<std::uint8_t>(old ^ fresh), icrc_offset_ - at - 1);
    // Headers are at even offsets from the network layer's start, so one parity serves both sums;
    // UDP's covers the addresses as well.
    if (ipv4_ && at < envelope_.transport_offset) {
      const std::size_t distance = at - envelope_.network_offset;
      ipv4_->checksum.set(wire::ipv4_checksum_update(ipv4_->checksum.get(), word_of(old, distance),
                                                     word_of(fresh, distance)));
    }
    update_udp_checksum(at, old, fresh);
  }

  void update_udp_checksum(std::size_t at, std::byte old, std::byte fresh) noexcept {
    if (!has_checksum_) return;
    const std::size_t distance = at - envelope_.network_offset;
    const std::uint16_t sum = wire::ipv4_checksum_update(
        udp_->checksum.get(), word_of(old, distance), word_of(fresh, distance));
    udp_->checksum.set(sum == 0 ? std::uint16_t{0xffff} : sum);  // 0 would mean none (RFC 768)
  }

  wire::MutableBytes bytes_;
  const Envelope& envelope_;
  std::size_t icrc_offset_;
  wire::Udp* udp_ = nullptr;
  wire::Ipv4* ipv4_ = nullptr;
  bool has_checksum_ = false;
  std::uint32_t icrc_change_ = 0;
};

/// Applies the change if its new address is of type Address, and its old one, if any, is `*field`.
template <class Address>
bool change_address(Patcher& patcher, const AddressChange& change, const Address* field) noexcept {
  const auto* to = std::get_if<Address>(&change.to);
  if (to == nullptr || field == nullptr) return false;
  if (change.from && *change.from != wire::IpAddress{*field}) return false;
  patcher.set(field, *to);
  return true;
}

void set_address(Patcher& patcher, const std::vector<AddressChange>& changes, const Envelope& e,
                 Ipv4Address wire::Ipv4::* in_ipv4, Ipv6Address wire::Ipv6::* in_ipv6) noexcept {
  for (const AddressChange& change : changes) {
    if (e.grh) {
      AddressChange gid{std::nullopt, gid_of(change.to)};
      if (change.from) gid.from = gid_of(*change.from);
      if (change_address(patcher, gid, &(e.grh->*in_ipv6))) return;
      continue;
    }
    if (change_address(patcher, change, e.ipv4 ? &(e.ipv4->*in_ipv4) : nullptr)) return;
    if (change_address(patcher, change, e.ipv6 ? &(e.ipv6->*in_ipv6) : nullptr)) return;
  }
}

template <class Field>
void map_field(Patcher& patcher, const std::map<std::uint32_t, std::uint32_t>& map,
               const Field* field) noexcept {
  if (const auto found = map.find(field->get()); found != map.end()) {
    patcher.set(field, Field{found->second});
  }
}

void set_psn(Patcher& patcher, const FrameChanges& what, const wire::Bth& bth) noexcept {
  const wire::OpcodeInfo* info = wire::find_opcode(bth.opcode.get());
  if (info && info->transport == wire::Transport::cnp) return;
  const auto own = what.psn_offset_of_qp.find(bth.dest_qp.get());
  const std::uint32_t offset = own != what.psn_offset_of_qp.end() ? own->second : what.psn_offset;
  patcher.set(&bth.psn_bytes, wire::Be24{(bth.psn() + offset).value()});
}

void set_transport(Patcher& patcher, const FrameChanges& what, const Frame& frame) noexcept {
  set_psn(patcher, what, *frame.bth);  // before the QP changes
  map_field(patcher, what.qps, &frame.bth->dest_qp);
  if (frame.deth) map_field(patcher, what.qps, &frame.deth->src_qp);
  if (frame.reth) map_field(patcher, what.r_keys, &frame.reth->r_key);
  if (frame.atomiceth) map_field(patcher, what.r_keys, &frame.atomiceth->r_key);
  if (frame.ieth) map_field(patcher, what.r_keys, &frame.ieth->r_key);
}

}  // namespace

Rewritten rewrite(const FrameChanges& what, wire::MutableBytes bytes) noexcept {
  const Envelope envelope = open_envelope(bytes);
  if (!envelope.is_roce()) return Rewritten::not_roce;
  const auto icrc = icrc_offset(envelope);
  const auto frame = parse(envelope);
  if (!icrc || !frame) return Rewritten::no_icrc;
  auto* ethernet = wire::view<wire::Ethernet>(bytes);
  if (what.source_mac) ethernet->source = *what.source_mac;
  if (what.destination_mac) ethernet->destination = *what.destination_mac;
  Patcher patcher(bytes, envelope, *icrc);
  if (what.source_port && envelope.udp)
    patcher.set(&envelope.udp->source_port, wire::Be16{*what.source_port});
  if (what.p_key) patcher.set(&frame->bth->p_key, wire::Be16{*what.p_key});
  set_address(patcher, what.sources, envelope, &wire::Ipv4::source, &wire::Ipv6::source);
  set_address(patcher, what.destinations, envelope, &wire::Ipv4::destination,
              &wire::Ipv6::destination);
  set_transport(patcher, what, *frame);
  patcher.finish();
  return Rewritten::yes;
}

}  // namespace lw::roce
