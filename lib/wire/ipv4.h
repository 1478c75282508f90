// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/field.h"
#include "wire/view.h"

namespace lw::wire {

inline constexpr std::uint8_t kProtocolUdp = 17;

struct Ipv4Fields {
  std::uint8_t header_words = 5;  // IHL, 5..15 32-bit words
  std::uint8_t dscp = 0;          // 6 bits
  std::uint8_t ecn = 0;           // 2 bits: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE
  std::uint16_t total_length = 0;
  std::uint16_t id = 0;
  bool dont_fragment = false, more_fragments = false;
  std::uint16_t fragment_offset = 0;  // 8-byte units, 13 bits
  std::uint8_t ttl = 64;
  std::uint8_t protocol = kProtocolUdp;
  std::uint16_t checksum = 0;
  Ipv4Address source, destination;
  friend bool operator==(const Ipv4Fields&, const Ipv4Fields&) = default;
};

/// RFC 791, 3.1. Options, when IHL > 5, follow the struct.
///
///   | version 4 | IHL 4 | DSCP 6 | ECN 2 | total length 16 |
///   | identification 16 | 0 DF MF 3 | fragment offset 13   |
///   | TTL 8 | protocol 8 | header checksum 16              |
///   | source 32 |
///   | destination 32 |
struct Ipv4 {
  Be8 version_words;
  Be8 tos;
  Be16 total_length;
  Be16 id;
  Be16 fragment;
  Be8 ttl;
  Be8 protocol;
  Be16 checksum;
  Ipv4Address source, destination;

  static constexpr std::uint16_t kReservedFlag = 0x8000;
  static constexpr std::uint16_t kDontFragment = 0x4000;
  static constexpr std::uint16_t kMoreFragments = 0x2000;
  static constexpr std::uint16_t kFragmentOffset = 0x1fff;

  [[nodiscard]] std::uint8_t version() const noexcept { return version_words.get() >> 4; }
  [[nodiscard]] std::size_t header_length() const noexcept {
    return std::size_t{4} * (version_words.get() & 15);
  }
  [[nodiscard]] std::uint8_t dscp() const noexcept { return tos.get() >> 2; }
  [[nodiscard]] std::uint8_t ecn() const noexcept { return tos.get() & 3; }
  [[nodiscard]] std::uint16_t fragment_offset() const noexcept {
    return fragment.get() & kFragmentOffset;
  }
  [[nodiscard]] bool is_fragment() const noexcept {
    return fragment.get() & (kMoreFragments | kFragmentOffset);
  }

  using Fields = Ipv4Fields;
  static constexpr std::array kFields = {
      field<&Ipv4Fields::source>({.name = "ip.src", .help = "source address"}),
      field<&Ipv4Fields::destination>({.name = "ip.dst", .help = "destination address"}),
      field<&Ipv4Fields::dscp>(
          {.name = "ip.dsfield.dscp", .help = "differentiated services code point", .bits = 6}),
      field<&Ipv4Fields::ecn>(
          {.name = "ip.dsfield.ecn", .help = "congestion notification", .bits = 2}),
      field<&Ipv4Fields::id>(
          {.name = "ip.id", .help = "identification", .base = Base::hex, .digits = 4}),
      field<&Ipv4Fields::ttl>({.name = "ip.ttl", .help = "time to live, in hops"}),
      field<&Ipv4Fields::protocol>({.name = "ip.proto", .help = "protocol of the payload"}),
  };

  [[nodiscard]] Ipv4Fields fields() const noexcept;
  /// Writes f.checksum unchanged.
  void set(const Ipv4Fields& f) noexcept;
};
static_assert(sizeof(Ipv4) == 20 && alignof(Ipv4) == 1);

/// The right checksum of `header` (IHL words, options included); its checksum field is ignored.
/// `header` has at least 20 bytes. (RFC 1071)
std::uint16_t ipv4_checksum(Bytes header) noexcept;

/// The checksum after one 16-bit word of the header changed. (RFC 1624, eqn. 3)
constexpr std::uint16_t ipv4_checksum_update(std::uint16_t checksum, std::uint16_t old_word,
                                             std::uint16_t new_word) noexcept {
  std::uint32_t sum = static_cast<std::uint16_t>(~checksum);
  sum += static_cast<std::uint16_t>(~old_word);
  sum += new_word;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace lw::wire
