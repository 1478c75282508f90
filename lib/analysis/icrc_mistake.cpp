// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/icrc_mistake.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "wire/bth.h"

namespace lw::analysis {
namespace {

using roce::Bytes;
using CrcTable = std::array<std::uint32_t, 256>;

constexpr CrcTable table_of(std::uint32_t reflected_polynomial) {
  CrcTable table{};
  for (std::uint32_t value = 0; value < 256; ++value) {
    std::uint32_t crc = value;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? reflected_polynomial : 0);
    table[value] = crc;
  }
  return table;
}
constexpr CrcTable kCrc32 = table_of(0xedb88320), kCrc32c = table_of(0x82f63b78);

/// The register after `bytes`, before the final inversion.
std::uint32_t crc(const CrcTable& table, std::uint32_t start, Bytes bytes) noexcept {
  for (const std::byte byte : bytes)
    start = start >> 8 ^ table[(start ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return start;
}

std::uint32_t reversed_bits(std::uint32_t value) noexcept {
  std::uint32_t reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (value >> bit & 1) << (31 - bit);
  return reversed;
}

/// Fields that the ICRC counts as ones.
enum Field : unsigned {
  kTos = 1,
  kTtl = 2,
  kIpSum = 4,
  kUdpSum = 8,
  kBthByte = 16,
  kAllFields = 31
};

/// A way to compute an ICRC, which differs from the right one.
struct Mistake {
  enum class From : std::uint8_t { lrh, ip, udp, bth };
  std::string_view text;
  From from = From::lrh;
  unsigned unmasked = 0;    // fields that are counted as they are
  bool zeros = false;       // masked fields count as zeros
  bool castagnoli = false;  // CRC-32C
  bool zero_seed = false;
};

using From = Mistake::From;

constexpr Mistake kMistakes[] = {
    {.text = "it is a CRC-32C, not a CRC-32", .castagnoli = true},
    {.text = "it counts the ToS (IPv6: traffic class and flow label) as it is, not as ones",
     .unmasked = kTos},
    {.text = "it counts the TTL (hop limit) as it is, not as ones", .unmasked = kTtl},
    {.text = "it counts the IP header checksum as it is, not as ones", .unmasked = kIpSum},
    {.text = "it counts the UDP checksum as it is, not as ones", .unmasked = kUdpSum},
    {.text = "it counts BTH byte 4 (FECN, BECN) as it is, not as ones", .unmasked = kBthByte},
    {.text = "it counts ToS and TTL as they are, not as ones", .unmasked = kTos | kTtl},
    {.text = "it counts the IP header as it is, with no field as ones",
     .unmasked = kTos | kTtl | kIpSum},
    {.text = "it counts all fields as they are, none as ones", .unmasked = kAllFields},
    {.text = "it counts the fields that a router may change as zeros, not as ones", .zeros = true},
    {.text = "it leaves out the eight bytes of ones in place of the LRH", .from = From::ip},
    {.text = "it leaves out the eight bytes of ones in place of the LRH, and counts all fields as "
             "they are",
     .from = From::ip,
     .unmasked = kAllFields},
    {.text = "it leaves out the IP header", .from = From::udp},
    {.text = "it leaves out the IP header, and counts all fields as they are",
     .from = From::udp,
     .unmasked = kAllFields},
    {.text = "it leaves out the IP and UDP headers", .from = From::bth},
    {.text = "it leaves out the IP and UDP headers, and counts all fields as they are",
     .from = From::bth,
     .unmasked = kAllFields},
    {.text = "its CRC begins with zeros, not with ones", .zero_seed = true},
};

/// A packet from its network header to its last pad byte, to be changed.
class MaskedPacket {
 public:
  MaskedPacket(const roce::Envelope& envelope, const roce::IcrcPlace& place)
      : network_(envelope.bytes.subspan(envelope.network_offset,
                                        place.offset - envelope.network_offset)),
        bth_(envelope.bth_offset() - envelope.network_offset),
        udp_(envelope.udp != nullptr),
        v4_(envelope.ipv4 != nullptr) {}

  [[nodiscard]] std::uint32_t icrc(const Mistake& mistake) const {
    std::vector<std::byte> bytes(network_.begin(), network_.end());
    mask(bytes, mistake);
    const CrcTable& table = mistake.castagnoli ? kCrc32c : kCrc32;
    constexpr std::array<std::byte, 8> kOnes = [] {
      std::array<std::byte, 8> ones{};
      ones.fill(std::byte{0xff});
      return ones;
    }();
    std::uint32_t value = mistake.zero_seed ? 0 : ~0U;
    if (mistake.from == From::lrh) value = crc(table, value, kOnes);
    return ~crc(table, value, Bytes{bytes}.subspan(begin_of(mistake.from)));
  }

 private:
  [[nodiscard]] std::size_t begin_of(From from) const noexcept {
    if (from == From::bth) return bth_;
    return from == From::udp ? bth_ - (udp_ ? sizeof(wire::Udp) : 0) : 0;
  }
  void mask(std::vector<std::byte>& bytes, const Mistake& mistake) const {
    const auto set = [&](unsigned field, std::size_t at, std::uint8_t bits) {
      if (mistake.unmasked & field) return;
      if (mistake.zeros)
        bytes[at] &= ~std::byte{bits};
      else
        bytes[at] |= std::byte{bits};
    };
    if (v4_) {
      set(kTos, 1, 0xff);
      set(kTtl, 8, 0xff);
      set(kIpSum, 10, 0xff);
      set(kIpSum, 11, 0xff);
    } else {
      set(kTos, 0, 0x0f);
      for (const std::size_t at : {1U, 2U, 3U}) set(kTos, at, 0xff);
      set(kTtl, 7, 0xff);
    }
    if (udp_) {
      set(kUdpSum, bth_ - 2, 0xff);
      set(kUdpSum, bth_ - 1, 0xff);
    }
    set(kBthByte, bth_ + 4, 0xff);
  }

  Bytes network_;
  std::size_t bth_;
  bool udp_, v4_;
};

/// What was done to the right value.
std::string_view order_mistake(std::uint32_t found, std::uint32_t right) noexcept {
  if (found == __builtin_bswap32(right)) return "its bytes are reversed";
  if (found == ~right) return "it lacks the final inversion";
  if (found == reversed_bits(right)) return "its bits are reversed";
  if (found == __builtin_bswap32(reversed_bits(right))) return "the bits of each byte are reversed";
  if (found == __builtin_bswap32(~right))
    return "its bytes are reversed, and it lacks the final inversion";
  return {};
}

}  // namespace

std::string_view icrc_mistake(const roce::Envelope& envelope, const roce::IcrcPlace& place,
                              std::uint32_t found) {
  if (const auto text = order_mistake(found, place.expected); !text.empty()) return text;
  const MaskedPacket packet(envelope, place);
  for (const Mistake& mistake : kMistakes) {
    const std::uint32_t value = packet.icrc(mistake);
    if (value == found || __builtin_bswap32(value) == found) return mistake.text;
  }
  return {};
}

}  // namespace lw::analysis
