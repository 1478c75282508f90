// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/address.h"
#include "wire/big_endian.h"

namespace lw::wire {

inline constexpr std::uint16_t kEtherTypeArp = 0x0806;
inline constexpr std::uint16_t kArpRequest = 1, kArpReply = 2;

struct ArpFields {
  std::uint16_t hardware_type = 1;  // Ethernet
  std::uint16_t protocol_type = 0x0800;
  std::uint8_t hardware_length = 6, protocol_length = 4;
  std::uint16_t operation = kArpRequest;
  MacAddress sender_mac;
  Ipv4Address sender;
  MacAddress target_mac;  // ignored in a request
  Ipv4Address target;
  friend bool operator==(const ArpFields&, const ArpFields&) = default;
};

/// Address resolution, IPv4 over Ethernet. (RFC 826)
///
///   | hardware type 16 | protocol type 16 |
///   | hardware length 8 | protocol length 8 | operation 16 |
///   | sender MAC (6) | sender IP 32 |
///   | target MAC (6) | target IP 32 |
struct Arp {
  Be16 hardware_type, protocol_type;
  Be8 hardware_length, protocol_length;
  Be16 operation;
  MacAddress sender_mac;
  Ipv4Address sender;
  MacAddress target_mac;
  Ipv4Address target;

  [[nodiscard]] bool is_ipv4_over_ethernet() const noexcept {
    return hardware_type.get() == 1 && protocol_type.get() == 0x0800 &&
           hardware_length.get() == sizeof(MacAddress) &&
           protocol_length.get() == sizeof(Ipv4Address);
  }

  [[nodiscard]] ArpFields fields() const noexcept {
    return {hardware_type.get(),
            protocol_type.get(),
            hardware_length.get(),
            protocol_length.get(),
            operation.get(),
            sender_mac,
            sender,
            target_mac,
            target};
  }
  void set(const ArpFields& f) noexcept {
    hardware_type.set(f.hardware_type);
    protocol_type.set(f.protocol_type);
    hardware_length.set(f.hardware_length);
    protocol_length.set(f.protocol_length);
    operation.set(f.operation);
    sender_mac = f.sender_mac;
    sender = f.sender;
    target_mac = f.target_mac;
    target = f.target;
  }
};
static_assert(sizeof(Arp) == 28 && alignof(Arp) == 1);

}  // namespace lw::wire
