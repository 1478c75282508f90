// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

/// IANA's destination port for RoCEv2. The source port is flow entropy.
inline constexpr std::uint16_t kRoceV2Port = 4791;

struct UdpFields {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = kRoceV2Port;
  std::uint16_t length = 0;
  std::uint16_t checksum = 0;  // 0: none, as RoCEv2 senders do over IPv4, and Linux over IPv6
  friend bool operator==(const UdpFields&, const UdpFields&) = default;
};

/// RFC 768.
///
///   | source port 16 | destination port 16 | length 16 | checksum 16 |
struct Udp {
  Be16 source_port, destination_port, length, checksum;

  using Fields = UdpFields;
  static constexpr std::array kFields = {
      field<&UdpFields::source_port>({.name = "udp.srcport", .help = "source port"}),
      field<&UdpFields::destination_port>({.name = "udp.dstport", .help = "destination port"}),
      field<&UdpFields::length>({.name = "udp.length", .help = "length with the header, in bytes"}),
  };

  [[nodiscard]] UdpFields fields() const noexcept {
    return {source_port.get(), destination_port.get(), length.get(), checksum.get()};
  }
  void set(const UdpFields& f) noexcept {
    source_port.set(f.source_port);
    destination_port.set(f.destination_port);
    length.set(f.length);
    checksum.set(f.checksum);
  }
};
static_assert(sizeof(Udp) == 8 && alignof(Udp) == 1);

/// Linux's source port for a flow label: its 20 bits folded into 0xc000..0xffff.
/// (rdma_flow_label_to_udp_sport)
constexpr std::uint16_t flow_label_to_source_port(std::uint32_t flow_label) noexcept {
  const std::uint32_t folded = (flow_label & 0x3fff) ^ ((flow_label & 0xfc000) >> 14);
  return static_cast<std::uint16_t>(folded | 0xc000);
}

/// Linux's flow label for a pair of QPs without one. (rdma_calc_flow_label)
constexpr std::uint32_t flow_label_of_qps(std::uint32_t local_qp,
                                          std::uint32_t remote_qp) noexcept {
  std::uint64_t product = std::uint64_t{local_qp} * remote_qp;
  product ^= product >> 20;
  product ^= product >> 40;
  return static_cast<std::uint32_t>(product & 0xfffff);
}

}  // namespace lw::wire
