// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"

namespace lw::wire {

// Ethertypes.
inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherTypeRoceV1 = 0x8915;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;  // 802.1Q C-tag
inline constexpr std::uint16_t kEtherTypeQinq = 0x88a8;  // 802.1ad S-tag
// The outer tag of old equipment. It is one flipped bit away from kEtherTypeVlan, and a damaged tag
// must not make a frame look valid: it counts as a tag only before one of type kEtherTypeVlan.
inline constexpr std::uint16_t kEtherTypeOldQinq = 0x9100;

/// Bytes of a frame on the wire that a capture doesn't show: preamble 7, start delimiter 1, FCS 4
/// and the smallest gap 12.
inline constexpr std::size_t kEthernetOverhead = 24;
/// Minimum frame size without FCS, in bytes; shorter frames are padded.
inline constexpr std::size_t kEthernetMinimum = 60;

struct EthernetFields {
  MacAddress destination, source;
  std::uint16_t type = kEtherTypeIpv4;
  friend bool operator==(const EthernetFields&, const EthernetFields&) = default;
};

/// IEEE 802.3, 3.2.
///
///   | destination (6) | source (6) | type (2) |
struct Ethernet {
  MacAddress destination, source;
  Be16 type;

  using Fields = EthernetFields;
  static constexpr std::array kFields = {
      field<&EthernetFields::destination>({.name = "eth.dst", .help = "destination MAC address"}),
      field<&EthernetFields::source>({.name = "eth.src", .help = "source MAC address"}),
      field<&EthernetFields::type>(
          {.name = "eth.type", .help = "ethertype", .base = Base::hex, .digits = 4}),
  };

  [[nodiscard]] EthernetFields fields() const noexcept { return {destination, source, type.get()}; }
  void set(const EthernetFields& f) noexcept {
    destination = f.destination;
    source = f.source;
    type.set(f.type);
  }
};
static_assert(sizeof(Ethernet) == 14 && alignof(Ethernet) == 1);

}  // namespace lw::wire
