// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "roce/compose.h"

namespace lw::test {

inline std::uint32_t mapped(const std::map<std::uint32_t, std::uint32_t>& map,
                            std::uint32_t value) {
  const auto found = map.find(value);
  return found == map.end() ? value : found->second;
}

inline wire::Ipv6Address gid_by_text(const wire::IpAddress& ip) {
  if (const auto* v6 = std::get_if<wire::Ipv6Address>(&ip)) return *v6;
  return std::get<wire::Ipv6Address>(
      *wire::parse_ip("::ffff:" + to_string(std::get<wire::Ipv4Address>(ip))));
}

inline void rewrite_address(const std::vector<roce::AddressChange>& changes,
                            const wire::Encapsulation encapsulation, wire::Ipv4Address& ipv4,
                            wire::Ipv6Address& ipv6) {
  for (const auto& [from, to] : changes) {
    const bool v4 = std::holds_alternative<wire::Ipv4Address>(to);
    if (encapsulation == wire::Encapsulation::grh && (!from || gid_by_text(*from) == ipv6)) {
      ipv6 = gid_by_text(to);
      return;
    }
    if (encapsulation == wire::Encapsulation::ipv4 && v4 &&
        (!from || *from == wire::IpAddress{ipv4})) {
      ipv4 = std::get<wire::Ipv4Address>(to);
      return;
    }
    if (encapsulation == wire::Encapsulation::ipv6 && !v4 &&
        (!from || *from == wire::IpAddress{ipv6})) {
      ipv6 = gid_by_text(to);
      return;
    }
  }
}

/// Applies a rewrite to fields: a frame composed of the result must equal the rewritten frame.
inline roce::FrameFields rewritten(const roce::FrameChanges& what, roce::FrameFields f) {
  f.source_mac = what.source_mac.value_or(f.source_mac);
  f.destination_mac = what.destination_mac.value_or(f.destination_mac);
  rewrite_address(what.sources, f.encapsulation, f.ipv4.source, f.ipv6.source);
  rewrite_address(what.destinations, f.encapsulation, f.ipv4.destination, f.ipv6.destination);
  const auto own = what.psn_offset_of_qp.find(f.bth.dest_qp);
  if (f.bth.opcode != 0x81) {
    f.bth.psn = f.bth.psn + (own != what.psn_offset_of_qp.end() ? own->second : what.psn_offset);
  }
  f.bth.dest_qp = mapped(what.qps, f.bth.dest_qp);
  f.deth.src_qp = mapped(what.qps, f.deth.src_qp);
  f.reth.r_key = mapped(what.r_keys, f.reth.r_key);
  f.atomiceth.r_key = mapped(what.r_keys, f.atomiceth.r_key);
  f.ieth.r_key = mapped(what.r_keys, f.ieth.r_key);
  return f;
}

/// Computes the UDP checksum as RFC 768 defines it: over pseudo-header, header and data; 0 is sent
/// as all ones.
inline std::uint16_t udp_checksum(const roce::Envelope& e) {
  std::uint32_t sum = e.protocol + e.udp->length.get();
  const auto add = [&sum](wire::Bytes bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    }
  };
  const std::size_t addresses = e.ipv4 ? 8 : 32;
  add(e.bytes.subspan(e.network_offset + (e.ipv4 ? 12 : 8), addresses));
  add(e.bytes.subspan(e.transport_offset, 6));
  add(e.bytes.subspan(e.transport_offset + 8, e.network_end - e.transport_offset - 8));
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff ? std::uint16_t{0xffff} : static_cast<std::uint16_t>(~sum);
}

/// Sets the UDP checksum of a frame, if it has UDP.
inline void fill_udp_checksum(std::vector<std::byte>& frame) {
  const auto e = roce::open_envelope(frame);
  if (!e.udp) return;
  const std::uint16_t sum = udp_checksum(e);
  auto* udp = wire::view_at<wire::Udp>(wire::MutableBytes{frame}, e.transport_offset);
  udp->checksum.set(sum);
}

}  // namespace lw::test
