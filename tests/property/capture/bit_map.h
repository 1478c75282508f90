// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lw::test {

/// What one flipped bit does to an ICRC's verdict.
enum class BitClass : unsigned char {
  outside,   // of the covered packet: link addresses, tag contents, padding: stays right
  masked,    // a field that routers may change: stays right
  covered,   // becomes wrong
  identity,  // makes the frame something else: never right
};

/// The class of each bit of an Ethernet frame that is RoCE (bit i is bit 7 - i % 8 of byte i / 8),
/// from the layouts of RFC 791, RFC 8200, RFC 768 and IBTA vol. 1, 7.8 (annexes A16, A17), by
/// plain byte arithmetic: it shares no code with what it judges. IP options and IPv6 extension
/// headers don't occur in our captures and are not understood.
class BitMap {
 public:
  explicit BitMap(std::span<const std::byte> frame)
      : frame_(frame), classes_(frame.size() * 8, BitClass::outside) {
    std::size_t at = 12;
    while (u16(at) == 0x8100 || u16(at) == 0x88a8) {
      mark(at, 2, BitClass::identity);  // the tag's type; what is in it comes and goes
      at += 4;
    }
    mark(at, 2, BitClass::identity);
    const unsigned type = u16(at);
    at += 2;
    if (type == 0x0800) map_ipv4(at);
    if (type == 0x86dd) map_ipv6(at, true);
    if (type == 0x8915) map_ipv6(at, false);
  }

  [[nodiscard]] BitClass operator[](std::size_t bit) const { return classes_[bit]; }
  [[nodiscard]] std::size_t bits() const { return classes_.size(); }

 private:
  [[nodiscard]] unsigned u8(std::size_t at) const {
    return at < frame_.size() ? std::to_integer<unsigned>(frame_[at]) : 0;
  }
  [[nodiscard]] unsigned u16(std::size_t at) const { return u8(at) << 8 | u8(at + 1); }

  void mark(std::size_t byte, std::size_t count, BitClass kind) {
    mark_bits(byte * 8, count * 8, kind);
  }
  void mark_bits(std::size_t first, std::size_t count, BitClass kind) {
    for (std::size_t i = first; i < first + count; ++i) classes_[i] = kind;
  }

  void map_ipv4(std::size_t ip) {
    mark(ip, u16(ip + 2), BitClass::covered);
    mark(ip, 1, BitClass::identity);                      // version, header length
    mark(ip + 1, 1, BitClass::masked);                    // ToS
    mark(ip + 2, 2, BitClass::identity);                  // total length
    mark_bits((ip + 6) * 8 + 2, 14, BitClass::identity);  // more fragments, offset; not DF
    mark(ip + 8, 1, BitClass::masked);                    // TTL
    mark(ip + 9, 1, BitClass::identity);                  // protocol
    mark(ip + 10, 2, BitClass::masked);                   // checksum
    map_udp(ip + 20);
  }

  void map_ipv6(std::size_t ip, bool udp) {
    mark(ip, 40 + u16(ip + 4), BitClass::covered);
    mark_bits(ip * 8, 4, BitClass::identity);     // version
    mark_bits(ip * 8 + 4, 28, BitClass::masked);  // traffic class, flow label
    mark(ip + 4, 2, BitClass::identity);          // payload length
    mark(ip + 6, 1, BitClass::identity);          // next header
    mark(ip + 7, 1, BitClass::masked);            // hop limit
    udp ? map_udp(ip + 40) : map_bth(ip + 40);
  }

  void map_udp(std::size_t udp) {
    mark(udp + 2, 2, BitClass::identity);  // destination port
    mark(udp + 4, 2, BitClass::identity);  // length
    mark(udp + 6, 2, BitClass::masked);    // checksum
    map_bth(udp + 8);
  }

  void map_bth(std::size_t bth) { mark(bth + 4, 1, BitClass::masked); }

  std::span<const std::byte> frame_;
  std::vector<BitClass> classes_;
};

}  // namespace lw::test
