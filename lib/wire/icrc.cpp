// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.h"

#include <array>
#include <cstring>

#include <isa-l/crc.h>

namespace lw::wire {
namespace {

constexpr std::size_t kIpv4Size = 20, kIpv6Size = 40, kUdpSize = 8, kBthSize = 12;
constexpr std::size_t kUdpChecksumOffset = 6, kBthCongestionOffset = 4;

/// CRC-32 of the eight bytes of 0xff that stand for the absent LRH.
constexpr std::uint32_t kLrhCrc = 0x2144df1c;

/// Sixteen bytes of headers, for one load, OR and store: a store of single bytes would delay the
/// CRC's wide loads of them. That and one call for a short packet make an ICRC of 128 bytes take 13
/// ns instead of 36.
using Block = std::uint64_t __attribute__((vector_size(16)));
constexpr std::size_t kBlock = sizeof(Block);
/// Packets up to this size are copied and take one CRC call.
constexpr std::size_t kShort = 256;

/// The bits of a packet that the ICRC counts as ones, from a given header on; none after the BTH.
class Mask {
 public:
  constexpr void set(std::size_t offset, std::uint8_t bits = 0xff) noexcept {
    bytes_[offset] = bits;
  }
  constexpr void set_ipv4() noexcept {
    set(1);   // ToS
    set(8);   // TTL
    set(10);  // header checksum
    set(11);
  }
  constexpr void set_ipv6() noexcept {
    set(0, 0x0f);  // traffic class, flow label
    for (std::size_t offset = 1; offset < 4; ++offset) set(offset);
    set(7);  // hop limit
  }
  constexpr void set_transport(std::size_t bth_offset, bool udp) noexcept {
    if (udp) {
      set(bth_offset - kUdpSize + kUdpChecksumOffset);
      set(bth_offset - kUdpSize + kUdpChecksumOffset + 1);
    }
    set(bth_offset + kBthCongestionOffset);
  }

  /// CRC of `bytes` with the mask's bits set. `bytes`: at least kBlock, at most kShort. `so_far`:
  /// CRC of the bytes before them.
  [[nodiscard]] std::uint32_t crc(std::uint32_t so_far, Bytes bytes) const noexcept {
    alignas(64) std::array<std::byte, kShort> masked;
    const auto copy = [&](std::size_t offset) {
      Block block, bits;
      std::memcpy(&block, bytes.data() + offset, kBlock);
      std::memcpy(&bits, bytes_.data() + offset, kBlock);
      block |= bits;
      std::memcpy(masked.data() + offset, &block, kBlock);
    };
    for (std::size_t end = kBlock; end <= bytes.size(); end += kBlock) copy(end - kBlock);
    copy(bytes.size() - kBlock);
    return crc32(so_far, Bytes{masked}.first(bytes.size()));
  }

 private:
  alignas(16) std::array<std::uint8_t, kShort> bytes_{};
};

/// The masks of a packet whose headers follow each other, by Encapsulation.
constexpr std::array<Mask, 3> kMasks = [] {
  std::array<Mask, 3> masks;
  masks[0].set_ipv4();
  masks[0].set_transport(kIpv4Size + kUdpSize, true);
  masks[1].set_ipv6();
  masks[1].set_transport(kIpv6Size + kUdpSize, true);
  masks[2].set_ipv6();
  masks[2].set_transport(kIpv6Size, false);
  return masks;
}();

/// The mask of UDP header and BTH alone.
constexpr Mask kTransportMask = [] {
  Mask mask;
  mask.set_transport(kUdpSize, true);
  return mask;
}();

}  // namespace

// ISA-L takes 0.4 us and zlib 2.2 us for 4 KiB, on a 2.5 GHz core without VPCLMULQDQ.
std::uint32_t crc32(std::uint32_t so_far, Bytes bytes) noexcept {
  return crc32_gzip_refl(so_far, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

std::uint32_t icrc(Encapsulation encapsulation, Bytes packet, std::size_t bth_offset) noexcept {
  constexpr std::size_t kLongestHeaders = 64;  // a multiple of kBlock, with all that is masked
  const Mask& mask = kMasks[static_cast<std::size_t>(encapsulation)];
  const std::size_t network_size = encapsulation == Encapsulation::ipv4 ? kIpv4Size : kIpv6Size;
  const std::size_t udp_size = encapsulation == Encapsulation::grh ? 0 : kUdpSize;
  const std::size_t transport_offset = bth_offset - udp_size;
  if (transport_offset == network_size) {
    if (packet.size() <= kShort) return mask.crc(kLrhCrc, packet);
    const std::uint32_t value = mask.crc(kLrhCrc, packet.first(kLongestHeaders));
    return crc32(value, packet.subspan(kLongestHeaders));
  }
  // IPv4 options or IPv6 extension headers: rare, covered unmasked.
  std::uint32_t value = mask.crc(kLrhCrc, packet.first(network_size));
  value = crc32(value, packet.subspan(network_size, transport_offset - network_size));
  value = kTransportMask.crc(value, packet.subspan(transport_offset, kUdpSize + kBthSize));
  return crc32(value, packet.subspan(bth_offset + kBthSize));
}

std::uint32_t load_icrc(Bytes four_bytes) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = kIcrcSize; i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint32_t>(four_bytes[i]);
  }
  return value;
}

namespace {

// Polynomials over GF(2) modulo Ethernet's, reflected: bit 31 is x^0.
constexpr std::uint32_t kPolynomial = 0xedb88320;
constexpr std::uint32_t kOne = 0x80000000;

constexpr std::uint32_t times_x(std::uint32_t p) noexcept {
  return p >> 1 ^ (p & 1 ? kPolynomial : 0);
}

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1, b = times_x(b)) {
    if (a & bit) product ^= b;
  }
  return product;
}

/// kPowers[k] = x^(8 * 2^k): a run of 2^k zero bytes.
constexpr auto kPowers = [] {
  std::array<std::uint32_t, 32> powers{};
  std::uint32_t p = kOne;
  for (int i = 0; i < 8; ++i) p = times_x(p);
  for (auto& power : powers) {
    power = p;
    p = multiply(p, p);
  }
  return powers;
}();

/// x^(8 * bytes).
std::uint32_t zero_bytes(std::size_t bytes) noexcept {
  std::uint32_t p = kOne;
  for (std::size_t k = 0; bytes != 0; ++k, bytes >>= 1) {
    if (bytes & 1) p = multiply(p, kPowers[k & 31]);
  }
  return p;
}

/// A byte enters the register at its low end and is shifted eight times.
std::uint32_t change_under(std::uint8_t change, std::uint32_t shift) noexcept {
  return multiply(multiply(change, kPowers[0]), shift);
}

}  // namespace

std::uint32_t icrc_change(std::uint8_t change, std::size_t distance) noexcept {
  return change_under(change, zero_bytes(distance));
}

IcrcFieldPatch::IcrcFieldPatch(std::size_t width, std::size_t distance) {
  for (std::size_t i = 0; i < width; ++i) {
    const std::uint32_t shift = zero_bytes(distance + i);
    for (std::uint32_t value = 0; value < 256; ++value) {
      tables_[i][value] = change_under(static_cast<std::uint8_t>(value), shift);
    }
  }
  std::uint64_t change = 0;
  for (std::size_t bits = 1; bits <= 8 * width; ++bits) {
    change = change << 1 | 1;
    increments_[bits] = (*this)(change);
  }
}

}  // namespace lw::wire
