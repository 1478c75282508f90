// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "wire/address.h"
#include "wire/big_endian.h"
#include "wire/view.h"

namespace lw::wire {

inline constexpr std::uint8_t kProtocolIcmp = 1, kProtocolIcmpv6 = 58;
inline constexpr std::uint8_t kIcmpEchoReply = 0, kIcmpEchoRequest = 8;
inline constexpr std::uint8_t kIcmpv6EchoRequest = 128, kIcmpv6EchoReply = 129;

struct IcmpEchoFields {
  std::uint8_t type = kIcmpEchoRequest;
  std::uint8_t code = 0;
  std::uint16_t checksum = 0;
  std::uint16_t id = 0, sequence = 0;
  friend bool operator==(const IcmpEchoFields&, const IcmpEchoFields&) = default;
};

/// An echo request or reply, of ICMP or ICMPv6. Data follow. (RFC 792; RFC 4443, 4)
///
///   | type 8 | code 8 | checksum 16 |
///   | identifier 16 | sequence number 16 |
struct IcmpEcho {
  Be8 type, code;
  Be16 checksum, id, sequence;

  [[nodiscard]] IcmpEchoFields fields() const noexcept {
    return {type.get(), code.get(), checksum.get(), id.get(), sequence.get()};
  }
  void set(const IcmpEchoFields& f) noexcept {
    type.set(f.type);
    code.set(f.code);
    checksum.set(f.checksum);
    id.set(f.id);
    sequence.set(f.sequence);
  }
};
static_assert(sizeof(IcmpEcho) == 8 && alignof(IcmpEcho) == 1);

/// Computes the checksum over a message, its checksum field included. The result is 0 if the field
/// is right; if the field is 0, the result is its right value. (RFC 792)
std::uint16_t icmp_checksum(Bytes message) noexcept;
/// Like icmp_checksum(), with the pseudo-header that ICMPv6 adds. (RFC 4443, 2.3)
std::uint16_t icmpv6_checksum(const Ipv6Address& source, const Ipv6Address& destination,
                              Bytes message) noexcept;

/// Types of messages that quote a packet which a host or router did not pass on. (RFC 792; RFC
/// 4443)
inline constexpr std::uint8_t kIcmpUnreachable = 3, kIcmpTimeExceeded = 11, kIcmpParameter = 12;
inline constexpr std::uint8_t kIcmpv6Unreachable = 1, kIcmpv6TooBig = 2, kIcmpv6TimeExceeded = 3,
                              kIcmpv6Parameter = 4;
inline constexpr std::uint8_t kIcmpTooBigCode = 4;  // of kIcmpUnreachable: fragmentation needed

/// A message that quotes a packet, from its IP header on. (RFC 792; RFC 1191, 4; RFC 4443, 3)
///
///   | type 8 | code 8 | checksum 16 |
///   | unused 16, MTU 16; in ICMPv6: MTU or unused 32 |
struct IcmpError {
  Be8 type, code;
  Be16 checksum;
  Be32 mtu;
};
static_assert(sizeof(IcmpError) == 8 && alignof(IcmpError) == 1);

/// Whether a message of this type says that the packet that it quotes was not passed on.
bool is_icmp_error(std::uint8_t type, bool v6) noexcept;
/// "communication administratively prohibited", ...; empty for an unknown type or code.
std::string_view icmp_error_name(std::uint8_t type, std::uint8_t code, bool v6) noexcept;

inline constexpr std::uint8_t kNeighbourSolicitation = 135, kNeighbourAdvertisement = 136;
inline constexpr std::uint8_t kSourceLinkAddress = 1, kTargetLinkAddress = 2;
/// Hop limit of neighbour messages: a message that crossed a router has less. (RFC 4861, 7.1)
inline constexpr std::uint8_t kNeighbourHopLimit = 255;

struct NeighbourFields {
  std::uint8_t type = kNeighbourSolicitation;
  std::uint8_t code = 0;
  std::uint16_t checksum = 0;
  std::uint32_t flags = 0;  // of an advertisement
  Ipv6Address target;
  friend bool operator==(const NeighbourFields&, const NeighbourFields&) = default;
};

/// Neighbour solicitation and advertisement; options follow. (RFC 4861, 4.3 and 4.4)
///
///   | type 8 | code 8 | checksum 16 |
///   | R 1 | S 1 | O 1 | reserved 29 |
///   | target 128 |
struct Neighbour {
  Be8 type, code;
  Be16 checksum;
  Be32 flags;
  Ipv6Address target;

  static constexpr std::uint32_t kRouter = 0x80000000, kSolicited = 0x40000000,
                                 kOverride = 0x20000000;

  [[nodiscard]] NeighbourFields fields() const noexcept {
    return {type.get(), code.get(), checksum.get(), flags.get(), target};
  }
  void set(const NeighbourFields& f) noexcept {
    type.set(f.type);
    code.set(f.code);
    checksum.set(f.checksum);
    flags.set(f.flags);
    target = f.target;
  }
};
static_assert(sizeof(Neighbour) == 24 && alignof(Neighbour) == 1);

struct LinkAddressFields {
  std::uint8_t type = kSourceLinkAddress;
  std::uint8_t length = 1;  // of the option, in words of eight bytes
  MacAddress mac;
  friend bool operator==(const LinkAddressFields&, const LinkAddressFields&) = default;
};

/// The option with a link-layer address, on Ethernet. (RFC 4861, 4.6.1; RFC 2464, 6)
///
///   | type 8 | length 8 | MAC (6) |
struct LinkAddress {
  Be8 type, length;
  MacAddress mac;

  [[nodiscard]] LinkAddressFields fields() const noexcept {
    return {type.get(), length.get(), mac};
  }
  void set(const LinkAddressFields& f) noexcept {
    type.set(f.type);
    length.set(f.length);
    mac = f.mac;
  }
};
static_assert(sizeof(LinkAddress) == 8 && alignof(LinkAddress) == 1);

/// ff02::1:ffXX:XXXX, with the last 24 bits of the address. (RFC 4291, 2.7.1)
constexpr Ipv6Address solicited_node(const Ipv6Address& address) noexcept {
  Ipv6Address group{};
  group.bytes[0] = std::byte{0xff};
  group.bytes[1] = std::byte{0x02};
  group.bytes[11] = std::byte{0x01};
  group.bytes[12] = std::byte{0xff};
  for (std::size_t i = 13; i < 16; ++i) group.bytes[i] = address.bytes[i];
  return group;
}

/// 33:33 and the last 32 bits of an IPv6 group. (RFC 2464, 7)
constexpr MacAddress mac_of_group(const Ipv6Address& group) noexcept {
  MacAddress mac{};
  mac.bytes[0] = mac.bytes[1] = std::byte{0x33};
  for (std::size_t i = 0; i < 4; ++i) mac.bytes[2 + i] = group.bytes[12 + i];
  return mac;
}

}  // namespace lw::wire
