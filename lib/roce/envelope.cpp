// SPDX-License-Identifier: BSD-3-Clause
#include "roce/envelope.h"

#include <algorithm>
#include <vector>

#include "roce/plain_rocev2.h"
#include "wire/icrc.h"

namespace lw::roce {
namespace {

using wire::view_at;

constexpr int kDeepestTag = 8;

/// Offset and ethertype of the network layer; `complete` is false when the bytes end before it.
struct LinkEnd {
  std::size_t offset = 0;
  std::uint16_t type = 0;
  bool complete = false;
};

bool is_vlan_type(std::uint16_t type) noexcept {
  return type == wire::kEtherTypeVlan || type == wire::kEtherTypeQinq;
}

/// Whether a tag of old equipment begins at `offset`: one of 802.1Q must follow it.
bool is_old_outer_tag(const Envelope& envelope, std::size_t offset, std::uint16_t type) noexcept {
  if (type != wire::kEtherTypeOldQinq) return false;
  const auto* tag = view_at<wire::Vlan>(envelope.bytes, offset);
  return tag && tag->type.get() == wire::kEtherTypeVlan;
}

LinkEnd pass_tags(Envelope& envelope, std::size_t offset, std::uint16_t type) noexcept {
  bool is_tag = is_vlan_type(type) || is_old_outer_tag(envelope, offset, type);
  for (int depth = 0; is_tag && depth < kDeepestTag; ++depth) {
    const auto* tag = view_at<wire::Vlan>(envelope.bytes, offset);
    if (!tag) return {};
    if (envelope.vlan_count < 2) envelope.vlans[envelope.vlan_count++] = tag;
    type = tag->type.get();
    offset += sizeof(wire::Vlan);
    is_tag = is_vlan_type(type);
  }
  return {offset, type, true};
}

LinkEnd pass_ethernet(Envelope& envelope) noexcept {
  envelope.ethernet = wire::view<wire::Ethernet>(envelope.bytes);
  if (!envelope.ethernet) return {};
  return pass_tags(envelope, sizeof(wire::Ethernet), envelope.ethernet->type.get());
}

/// Linux's "cooked" headers of tcpdump -i any: only their protocol field matters here.
LinkEnd pass_cooked(Envelope& envelope, std::size_t size, std::size_t type_offset) noexcept {
  const auto* type = view_at<wire::Be16>(envelope.bytes, type_offset);
  if (!type || envelope.bytes.size() < size) return {};
  return pass_tags(envelope, size, type->get());
}

LinkEnd pass_link(Envelope& envelope, LinkType link) noexcept {
  constexpr std::size_t kSllSize = 16, kSllType = 14, kSll2Size = 20, kSll2Type = 0;
  switch (link) {
    case LinkType::ethernet:
      return pass_ethernet(envelope);
    case LinkType::linux_sll:
      return pass_cooked(envelope, kSllSize, kSllType);
    case LinkType::linux_sll2:
      return pass_cooked(envelope, kSll2Size, kSll2Type);
    case LinkType::raw_ip:
      break;
  }
  if (envelope.bytes.empty()) return {};
  const auto version = std::to_integer<unsigned>(envelope.bytes[0]) >> 4;
  return {0, version == 6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4, true};
}

void open_udp(Envelope& envelope) noexcept {
  const bool header_here = !envelope.fragment || envelope.first_fragment;
  const bool header_fits = envelope.transport_offset + sizeof(wire::Udp) <= envelope.network_end;
  if (envelope.protocol == wire::kProtocolUdp && header_here && header_fits) {
    envelope.udp = view_at<wire::Udp>(envelope.bytes, envelope.transport_offset);
  }
}

void open_ipv4(Envelope& envelope) noexcept {
  const auto* ip = view_at<wire::Ipv4>(envelope.bytes, envelope.network_offset);
  if (!ip || ip->version() != 4 || ip->header_length() < sizeof(wire::Ipv4)) return;
  envelope.ipv4 = ip;
  envelope.network_end = envelope.network_offset + ip->total_length.get();
  envelope.protocol = ip->protocol.get();
  envelope.transport_offset = envelope.network_offset + ip->header_length();
  envelope.fragment = ip->is_fragment();
  envelope.first_fragment = envelope.fragment && ip->fragment_offset() == 0;
  envelope.fragment_id = ip->id.get();
  open_udp(envelope);
}

void open_ipv6(Envelope& envelope) noexcept {
  const auto* ip = view_at<wire::Ipv6>(envelope.bytes, envelope.network_offset);
  if (!ip || ip->version() != 6) return;
  envelope.ipv6 = ip;
  envelope.network_end = envelope.network_offset + sizeof(wire::Ipv6) + ip->payload_length.get();
  // The IP length bounds the chain: Ethernet padding is not a header.
  const std::size_t end = std::min(envelope.bytes.size(), envelope.network_end);
  const auto payload = wire::skip_extension_headers(
      envelope.bytes.subspan(envelope.network_offset, end - envelope.network_offset));
  envelope.protocol = payload.protocol;
  envelope.transport_offset = envelope.network_offset + payload.offset;
  envelope.fragment = payload.fragment;
  envelope.first_fragment = payload.first_fragment;
  envelope.fragment_id = payload.fragment_id;
  if (payload.complete) open_udp(envelope);
}

void open_grh(Envelope& envelope) noexcept {
  const auto* grh = view_at<wire::Grh>(envelope.bytes, envelope.network_offset);
  if (!grh || grh->version() != 6) return;
  envelope.grh = grh;
  envelope.network_end = envelope.network_offset + sizeof(wire::Grh) + grh->payload_length.get();
  envelope.protocol = grh->next_header.get();
  envelope.transport_offset = envelope.network_offset + sizeof(wire::Grh);
}

void open_network(Envelope& envelope, const LinkEnd& end) noexcept {
  if (!end.complete) return;
  envelope.ether_type = end.type;
  envelope.network_offset = end.offset;
  if (end.type == wire::kEtherTypeIpv4) open_ipv4(envelope);
  if (end.type == wire::kEtherTypeIpv6) open_ipv6(envelope);
  if (end.type == wire::kEtherTypeRoceV1) open_grh(envelope);
}

/// Fills the envelope of a frame that is_plain_rocev2(): 92 instructions instead of 147 layer by
/// layer.
void open_plain(Envelope& envelope) noexcept {
  const std::byte* at = envelope.bytes.data();
  envelope.ethernet = reinterpret_cast<const wire::Ethernet*>(at);
  envelope.ether_type = wire::kEtherTypeIpv4;
  envelope.ipv4 = &plain_ipv4(envelope.bytes);
  envelope.network_offset = kPlainIp;
  envelope.network_end = kPlainIp + envelope.ipv4->total_length.get();
  envelope.protocol = wire::kProtocolUdp;
  envelope.transport_offset = kPlainUdp;
  envelope.fragment_id = envelope.ipv4->id.get();
  envelope.udp = reinterpret_cast<const wire::Udp*>(at + kPlainUdp);
  envelope.plain = true;
}

/// check_icrc() for a plain frame: 3 ns besides the CRC, instead of 15 with expected_icrc().
IcrcVerdict check_plain(Bytes frame) noexcept {
  const Bytes network = frame.subspan(kPlainIp);
  const std::size_t end = plain_ipv4(frame).total_length.get();
  const std::size_t end_by_udp = sizeof(wire::Ipv4) + plain_udp(frame).length.get();
  if (end > network.size() || end_by_udp != end) return IcrcVerdict::unverifiable;
  const Bytes covered = network.first(end - wire::kIcrcSize);
  const std::uint32_t expected =
      wire::icrc(wire::Encapsulation::ipv4, covered, kPlainBth - kPlainIp);
  return wire::load_icrc(network.subspan(covered.size(), wire::kIcrcSize)) == expected
             ? IcrcVerdict::ok
             : IcrcVerdict::bad;
}

/// UDP's length must end where IP's does; otherwise the ICRC's position is unknown.
bool udp_agrees(const Envelope& envelope) noexcept {
  return envelope.transport_offset + envelope.udp->length.get() == envelope.network_end;
}

/// RoCEv1 has no second length to check the GRH's against, but its frames never need padding: only
/// an FCS, which some captures keep, can follow the ICRC.
bool grh_ends_the_frame(const Envelope& envelope) noexcept {
  constexpr std::size_t kFcsSize = 4;
  const std::size_t trailing = envelope.bytes.size() - envelope.network_end;
  if (trailing == 0) return true;
  if (trailing != kFcsSize) return false;
  const std::uint32_t fcs = wire::crc32(0, envelope.bytes.first(envelope.network_end));
  return fcs == wire::load_icrc(envelope.bytes.last(kFcsSize));
}

}  // namespace

void open_envelope(Envelope& envelope, Bytes bytes, std::size_t wire_length,
                   LinkType link) noexcept {
  envelope = Envelope{};
  envelope.bytes = bytes;
  envelope.wire_length = std::max(wire_length, bytes.size());
  if (link == LinkType::ethernet && is_plain_rocev2(bytes)) {
    open_plain(envelope);
    return;
  }
  open_network(envelope, pass_link(envelope, link));
}

void reopen_from_type(Envelope& envelope, std::size_t type_at) noexcept {
  const Envelope outer = envelope;
  envelope = Envelope{};
  envelope.bytes = outer.bytes;
  envelope.wire_length = outer.wire_length;
  const auto* type = view_at<wire::Be16>(envelope.bytes, type_at);
  if (type != nullptr) open_network(envelope, pass_tags(envelope, type_at + 2, type->get()));
}

std::string Envelope::source() const {
  if (ipv4) return to_string(ipv4->source);
  if (ipv6) return to_string(ipv6->source);
  return grh ? to_string(grh->source) : std::string{};
}

std::string Envelope::destination() const {
  if (ipv4) return to_string(ipv4->destination);
  if (ipv6) return to_string(ipv6->destination);
  return grh ? to_string(grh->destination) : std::string{};
}

std::uint8_t Envelope::hop_limit() const noexcept {
  if (ipv4) return ipv4->ttl.get();
  if (ipv6) return ipv6->hop_limit.get();
  return grh ? grh->hop_limit.get() : std::uint8_t{0};
}

std::optional<std::size_t> icrc_offset(const Envelope& envelope) noexcept {
  if (!envelope.is_roce() || envelope.fragment) return std::nullopt;
  if (envelope.network_end > envelope.bytes.size()) return std::nullopt;
  if (envelope.udp && !udp_agrees(envelope)) return std::nullopt;
  if (envelope.bth_offset() + sizeof(wire::Bth) + wire::kIcrcSize > envelope.network_end) {
    return std::nullopt;
  }
  return envelope.network_end - wire::kIcrcSize;
}

std::optional<IcrcPlace> expected_icrc(const Envelope& envelope) noexcept {
  const auto place = icrc_offset(envelope);
  if (!place) return std::nullopt;
  const Bytes packet =
      envelope.bytes.subspan(envelope.network_offset, *place - envelope.network_offset);
  return IcrcPlace{*place, wire::icrc(envelope.encapsulation(), packet,
                                      envelope.bth_offset() - envelope.network_offset)};
}

namespace {

/// Whether the ICRC at `offset` is right for port 4791, which something on the way replaced.
bool fits_roce_port(const Envelope& envelope, std::size_t offset) {
  if (!envelope.other_port) return false;
  const Bytes packet =
      envelope.bytes.subspan(envelope.network_offset, offset - envelope.network_offset);
  std::vector<std::byte> sent(packet.begin(), packet.end());
  auto& udp = *reinterpret_cast<wire::Udp*>(sent.data() + envelope.transport_offset -
                                            envelope.network_offset);
  udp.destination_port.set(wire::kRoceV2Port);
  return wire::load_icrc(envelope.bytes.subspan(offset, wire::kIcrcSize)) ==
         wire::icrc(envelope.encapsulation(), sent,
                    envelope.bth_offset() - envelope.network_offset);
}

/// check_icrc() for a frame that is not plain; apart from it, as it needs more registers saved.
[[gnu::noinline]] IcrcVerdict check_layers(const Envelope& envelope) noexcept {
  if (!envelope.is_roce()) return IcrcVerdict::not_roce;
  const auto place = expected_icrc(envelope);
  if (!place) return IcrcVerdict::unverifiable;
  const Bytes found = envelope.bytes.subspan(place->offset, wire::kIcrcSize);
  if (wire::load_icrc(found) == place->expected) return IcrcVerdict::ok;
  if (fits_roce_port(envelope, place->offset)) return IcrcVerdict::ok;
  if (envelope.grh && !grh_ends_the_frame(envelope)) return IcrcVerdict::unverifiable;
  return IcrcVerdict::bad;
}

}  // namespace

IcrcVerdict check_icrc(const Envelope& envelope) noexcept {
  return envelope.plain ? check_plain(envelope.bytes) : check_layers(envelope);
}

}  // namespace lw::roce
