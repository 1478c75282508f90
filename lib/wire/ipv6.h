// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/address.h"
#include "wire/big_endian.h"
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

  [[nodiscard]] Ipv6Fields fields() const noexcept;
  void set(const Ipv6Fields& f) noexcept;
};
static_assert(sizeof(Ipv6) == 40 && alignof(Ipv6) == 1);

/// What follows an IPv6 header once its extension headers are skipped.
struct Ipv6Payload {
  std::uint8_t protocol = 0;  // the upper layer's number, or the header where the skip stopped
  std::size_t offset = 0;     // of the upper layer, from the IPv6 header's start
  bool fragment = false;      // a fragment header with an offset or more to come
  bool first_fragment = false;
  bool complete = false;  // false: the bytes end within the chain
  std::uint32_t fragment_id = 0;
};

/// Skips hop-by-hop, routing, destination, authentication and fragment headers (RFC 8200, 4;
/// RFC 4302). `packet` starts at the IPv6 header and holds at least its 40 bytes. Behind a
/// fragment that isn't the first there is no upper header: the skip stops there.
Ipv6Payload skip_extension_headers(Bytes packet) noexcept;

}  // namespace lw::wire
