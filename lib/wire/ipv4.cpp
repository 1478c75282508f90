// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ipv4.h"

namespace lw::wire {

Ipv4Fields Ipv4::fields() const noexcept {
  const std::uint16_t word = fragment.get();
  return {.header_words = static_cast<std::uint8_t>(version_words.get() & 15),
          .dscp = dscp(),
          .ecn = ecn(),
          .total_length = total_length.get(),
          .id = id.get(),
          .dont_fragment = (word & kDontFragment) != 0,
          .more_fragments = (word & kMoreFragments) != 0,
          .fragment_offset = fragment_offset(),
          .ttl = ttl.get(),
          .protocol = protocol.get(),
          .checksum = checksum.get(),
          .source = source,
          .destination = destination};
}

void Ipv4::set(const Ipv4Fields& f) noexcept {
  version_words.set(static_cast<std::uint8_t>(0x40 | (f.header_words & 15)));
  tos.set(static_cast<std::uint8_t>(f.dscp << 2 | (f.ecn & 3)));
  total_length.set(f.total_length);
  id.set(f.id);
  fragment.set(static_cast<std::uint16_t>((f.dont_fragment ? kDontFragment : 0) |
                                          (f.more_fragments ? kMoreFragments : 0) |
                                          (f.fragment_offset & kFragmentOffset)));
  ttl.set(f.ttl);
  protocol.set(f.protocol);
  checksum.set(f.checksum);
  source = f.source;
  destination = f.destination;
}

std::uint16_t ipv4_checksum(Bytes header) noexcept {
  constexpr std::size_t kChecksumOffset = 10;
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2) {
    if (i == kChecksumOffset) continue;
    sum += std::to_integer<std::uint32_t>(header[i]) << 8 |
           std::to_integer<std::uint32_t>(header[i + 1]);
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace lw::wire
