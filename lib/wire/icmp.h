// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

/// A ping and its answer; ICMPv6's has the same layout. Data follow. (RFC 792; RFC 4443, 4)
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

/// The checksum of a message with its checksum field as it is: 0 over one that is right; over one
/// whose field is 0 the value that belongs there. (RFC 792)
std::uint16_t icmp_checksum(Bytes message) noexcept;
/// The same with the pseudo-header that ICMPv6 adds. (RFC 4443, 2.3)
std::uint16_t icmpv6_checksum(const Ipv6Address& source, const Ipv6Address& destination,
                              Bytes message) noexcept;

}  // namespace lw::wire
