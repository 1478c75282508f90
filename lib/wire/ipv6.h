// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"
#include "wire/view.h"

namespace lw::wire {

struct Ipv6Fields {
  std::uint8_t traffic_class = 0;  // DSCP 6, ECN 2
  std::uint32_t flow_label = 0;    // 20 bits
  std::uint16_t payload_length = 0;
  std::uint8_t next_header = 17;
  std::uint8_t hop_limit = 64;
  Ipv6Address source, destination;
  friend bool operator==(const Ipv6Fields&, const Ipv6Fields&) = default;
};

/// RFC 8200, 3.
///
///   | version 4 | traffic class 8 | flow label 20            |
///   | payload length 16 | next header 8 | hop limit 8        |
///   | source 128 |
///   | destination 128 |
struct Ipv6 {
  Be32 version_class_label;
  Be16 payload_length;
  Be8 next_header;
  Be8 hop_limit;
  Ipv6Address source, destination;

  static constexpr std::uint32_t kFlowLabel = 0xfffff;

  [[nodiscard]] std::uint8_t version() const noexcept {
    return static_cast<std::uint8_t>(version_class_label.get() >> 28);
  }
  [[nodiscard]] std::uint8_t traffic_class() const noexcept {
    return static_cast<std::uint8_t>(version_class_label.get() >> 20 & 0xff);
  }
  [[nodiscard]] std::uint8_t dscp() const noexcept { return traffic_class() >> 2; }
  [[nodiscard]] std::uint8_t ecn() const noexcept { return traffic_class() & 3; }
  [[nodiscard]] std::uint32_t flow_label() const noexcept {
    return version_class_label.get() & kFlowLabel;
  }

  using Fields = Ipv6Fields;
  static constexpr std::array kFields = {
      field<&Ipv6Fields::source>({.name = "ipv6.src", .help = "source address"}),
      field<&Ipv6Fields::destination>({.name = "ipv6.dst", .help = "destination address"}),
      field<&Ipv6Fields::traffic_class>({.name = "ipv6.tclass.dscp",
                                         .help = "differentiated services code point",
                                         .shift = 2,
                                         .bits = 6}),
      field<&Ipv6Fields::traffic_class>(
          {.name = "ipv6.tclass.ecn", .help = "congestion notification", .bits = 2}),
      field<&Ipv6Fields::flow_label>(
          {.name = "ipv6.flow", .help = "flow label", .base = Base::hex, .digits = 6, .bits = 20}),
      field<&Ipv6Fields::hop_limit>({.name = "ipv6.hlim", .help = "hop limit"}),
      field<&Ipv6Fields::next_header>({.name = "ipv6.nxt", .help = "type of the next header"}),
  };

  [[nodiscard]] Ipv6Fields fields() const noexcept;
  void set(const Ipv6Fields& f) noexcept;
};
static_assert(sizeof(Ipv6) == 40 && alignof(Ipv6) == 1);

/// A GRH's "next header" value for a BTH. (IBTA vol. 1, 8.3)
inline constexpr std::uint8_t kNextHeaderBth = 0x1b;

/// RoCEv1's network layer, laid out like an IPv6 header. paylen counts from the BTH to the ICRC,
/// both included.
using Grh = Ipv6;
using GrhFields = Ipv6Fields;

inline constexpr std::array kGrhFields = {
    field<&Grh::version_class_label>(
        {.name = "infiniband.grh.ipver", .help = "IP version", .shift = 28, .bits = 4}),
    field<&Grh::version_class_label>(
        {.name = "infiniband.grh.tclass", .help = "traffic class", .shift = 20, .bits = 8}),
    field<&Grh::version_class_label>(
        {.name = "infiniband.grh.flowlabel", .help = "flow label", .bits = 20}),
    field<&Grh::payload_length>(
        {.name = "infiniband.grh.paylen", .help = "payload length, in bytes"}),
    field<&Grh::next_header>({.name = "infiniband.grh.nxthdr", .help = "type of the next header"}),
    field<&Grh::hop_limit>({.name = "infiniband.grh.hoplmt", .help = "hop limit"}),
    field<&Grh::source>({.name = "infiniband.grh.sgid", .help = "source GID"}),
    field<&Grh::destination>({.name = "infiniband.grh.dgid", .help = "destination GID"}),
};

/// The upper layer after an IPv6 header and its extension headers.
struct Ipv6Payload {
  std::uint8_t protocol = 0;  // of the upper layer, or of the header where the skip stopped
  std::size_t offset = 0;     // of the upper layer, from the IPv6 header's start
  bool fragment = false;      // a fragment header with an offset or more to come
  bool first_fragment = false;
  bool complete = false;  // false: the bytes end within the chain
  std::uint32_t fragment_id = 0;
};

/// Skips hop-by-hop, routing, destination, authentication and fragment headers (RFC 8200, 4;
/// RFC 4302). `packet` starts at the IPv6 header and holds at least its 40 bytes. A fragment that
/// isn't the first has no upper header: the skip stops there.
Ipv6Payload skip_extension_headers(Bytes packet) noexcept;

}  // namespace lw::wire
