// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <array>
#include <cstring>

#include <isa-l/crc.h>

namespace lw::wire {
namespace {

constexpr auto kOnes = std::byte{0xff};
constexpr std::size_t kLrhSize = 8, kIpv4Size = 20, kIpv6Size = 40, kUdpSize = 8, kBthSize = 12;
constexpr std::size_t kUdpChecksumOffset = 6, kBthCongestionOffset = 4;

/// The start of the CRC's input: the LRH's ones, then the headers with their variant fields masked.
/// They are contiguous, so most packets take two CRC calls: this and the rest in place.
struct MaskedHeaders {
  std::array<std::byte, kLrhSize + kIpv6Size + kUdpSize + kBthSize> bytes;
  std::size_t size = 0;

  void append(Bytes part) noexcept {
    std::memcpy(bytes.data() + size, part.data(), part.size());
    size += part.size();
  }
  void mask(std::size_t offset_from_end) noexcept { bytes[size - offset_from_end] = kOnes; }
};

void append_ipv4(MaskedHeaders& headers, Bytes packet) noexcept {
  headers.append(packet.first(kIpv4Size));
  headers.mask(kIpv4Size - 1);   // ToS
  headers.mask(kIpv4Size - 8);   // TTL
  headers.mask(kIpv4Size - 10);  // header checksum
  headers.mask(kIpv4Size - 11);
}

void append_ipv6(MaskedHeaders& headers, Bytes packet) noexcept {
  headers.append(packet.first(kIpv6Size));
  headers.bytes[headers.size - kIpv6Size] |= std::byte{0x0f};  // traffic class, flow label
  headers.mask(kIpv6Size - 1);
  headers.mask(kIpv6Size - 2);
  headers.mask(kIpv6Size - 3);
  headers.mask(kIpv6Size - 7);  // hop limit
}

void append_transport(MaskedHeaders& headers, Bytes packet, std::size_t bth_offset,
                      bool udp) noexcept {
  if (udp) {
    headers.append(packet.subspan(bth_offset - kUdpSize, kUdpSize));
    headers.mask(kUdpSize - kUdpChecksumOffset);
    headers.mask(kUdpSize - kUdpChecksumOffset - 1);
  }
  headers.append(packet.subspan(bth_offset, kBthSize));
  headers.mask(kBthSize - kBthCongestionOffset);
}

}  // namespace

// ISA-L takes 0.4 us and zlib 2.2 us for 4 KiB, on a 2.5 GHz core without VPCLMULQDQ.
std::uint32_t crc32(std::uint32_t so_far, Bytes bytes) noexcept {
  return crc32_gzip_refl(so_far, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

std::uint32_t icrc(Encapsulation encapsulation, Bytes packet, std::size_t bth_offset) noexcept {
  const bool v4 = encapsulation == Encapsulation::ipv4;
  const bool udp = encapsulation != Encapsulation::grh;
  MaskedHeaders headers;
  std::memset(headers.bytes.data(), 0xff, kLrhSize);
  headers.size = kLrhSize;
  v4 ? append_ipv4(headers, packet) : append_ipv6(headers, packet);

  // IPv4 options or IPv6 extension headers: rare, covered unmasked, with a CRC call of their own.
  const std::size_t network_size = v4 ? kIpv4Size : kIpv6Size;
  const std::size_t transport_offset = bth_offset - (udp ? kUdpSize : 0);
  std::uint32_t value = 0;
  if (transport_offset > network_size) {
    value = crc32(value, Bytes{headers.bytes}.first(headers.size));
    value = crc32(value, packet.subspan(network_size, transport_offset - network_size));
    headers.size = 0;
  }
  append_transport(headers, packet, bth_offset, udp);
  value = crc32(value, Bytes{headers.bytes}.first(headers.size));
  return crc32(value, packet.subspan(bth_offset + kBthSize));
}

std::uint32_t load_icrc(Bytes four_bytes) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = kIcrcSize; i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint32_t>(four_bytes[i]);
  }
  return value;
}

}  // namespace lw::wire
