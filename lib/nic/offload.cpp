// SPDX-License-Identifier: BSD-3-Clause
#include "nic/offload.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <netinet/in.h>

#include <rte_hash_crc.h>
#include <rte_ip.h>

namespace lw::nic {
namespace {

constexpr std::size_t kAddresses = 12, kEtherType = 2, kTag = 4;
constexpr std::size_t kIpv4Header = 20, kIpv6Header = 40, kTcpHeader = 20, kUdpHeader = 8;
constexpr std::uint16_t kTypeIpv4 = 0x0800, kTypeIpv6 = 0x86dd, kTypeVlan = 0x8100,
                        kTypeServiceVlan = 0x88a8;
constexpr std::uint8_t kFin = 0x01, kPsh = 0x08, kCwr = 0x80;
// Offsets in headers.
constexpr std::size_t kIpv4Length = 2, kIpv4Id = 4, kIpv4Flags = 6, kIpv4Protocol = 9,
                      kIpv4Checksum = 10, kIpv4Addresses = 12;
constexpr std::size_t kIpv6Length = 4, kIpv6Next = 6, kIpv6Addresses = 8;
constexpr std::size_t kTcpSequence = 4, kTcpOffset = 12, kTcpFlags = 13, kTcpChecksum = 16;
constexpr std::size_t kUdpLength = 4, kUdpChecksum = 6;
constexpr std::uint16_t kSctpChecksum = 8;

std::uint16_t load16(const std::byte* at) noexcept {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) << 8 |
                                    std::to_integer<unsigned>(at[1]));
}
void store16(std::byte* at, std::size_t value) noexcept {
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value);
}
std::uint32_t load32(const std::byte* at) noexcept {
  return static_cast<std::uint32_t>(load16(at)) << 16 | load16(at + 2);
}
void store32(std::byte* at, std::uint32_t value) noexcept {
  store16(at, value >> 16);
  store16(at + 2, value & 0xffff);
}

/// One's complement sum of bytes, in network byte order as stored; not complemented.
std::uint16_t sum(const std::byte* bytes, std::size_t size) noexcept {
  return rte_raw_cksum(bytes, size);
}
std::uint16_t sum(std::uint16_t first, std::uint16_t second) noexcept {
  const std::uint32_t both = std::uint32_t{first} + second;
  return static_cast<std::uint16_t>(both + (both >> 16));
}
/// A number as a term of such a sum.
std::uint16_t term(std::size_t value) noexcept {
  return std::byteswap(static_cast<std::uint16_t>(value));
}

void store_sum(std::byte* at, std::uint16_t value) noexcept {
  std::memcpy(at, &value, sizeof value);
}

bool is_tag(std::uint16_t type) noexcept { return type == kTypeVlan || type == kTypeServiceVlan; }

// Of linux/virtio_net.h, which C++ can't include: a field there is named `class`.
constexpr unsigned kNeedsChecksum = 0x01;
constexpr std::size_t kFlags = 0, kSegmentType = 1, kSegmentSize = 4, kChecksumStart = 6,
                      kChecksumOffset = 8;
constexpr unsigned kNotSegmented = 0, kTcpIpv4 = 1, kTcpIpv6 = 4, kUdpSegments = 5, kEcn = 0x80;

Offload::Segments segments_of(unsigned type) noexcept {
  switch (type) {
    case kNotSegmented:
      return Offload::Segments::none;
    case kTcpIpv4:
      return Offload::Segments::tcp_ipv4;
    case kTcpIpv6:
      return Offload::Segments::tcp_ipv6;
    case kUdpSegments:
      return Offload::Segments::udp;
    default:
      return Offload::Segments::unknown;
  }
}

std::uint16_t load_host16(const std::byte* at) noexcept {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

Offload read_offload(const std::byte* header) noexcept {
  const auto type = std::to_integer<unsigned>(header[kSegmentType]);
  return {.checksum_missing = (std::to_integer<unsigned>(header[kFlags]) & kNeedsChecksum) != 0,
          .checksum_start = load_host16(header + kChecksumStart),
          .checksum_offset = load_host16(header + kChecksumOffset),
          .segments = segments_of(type & ~kEcn),
          .segment_size = load_host16(header + kSegmentSize),
          .first_segment_has_cwr = (type & kEcn) != 0};
}

bool complete_checksum(std::span<std::byte> covered, std::uint16_t checksum_offset) noexcept {
  if (covered.size() < checksum_offset + std::size_t{2}) return false;
  std::byte* const field = covered.data() + checksum_offset;
  // No other protocol has a checksum at this offset.
  if (checksum_offset == kSctpChecksum) {
    if (covered.size() < kSctpChecksum + sizeof(std::uint32_t)) return false;
    store32(field, 0);
    const std::uint32_t crc =
        ~rte_hash_crc(covered.data(), static_cast<std::uint32_t>(covered.size()), 0xffff'ffff);
    std::memcpy(field, &crc, sizeof crc);
    return true;
  }
  const auto checksum = static_cast<std::uint16_t>(~sum(covered.data(), covered.size()));
  store_sum(field, checksum == 0 ? 0xffff : checksum);
  return true;
}

bool Segmenter::start(std::span<const std::byte> frame, const Offload& offload,
                      const std::optional<VlanTag>& tag) noexcept {
  offload_ = offload;
  payload_ = {};
  sent_ = 0;
  index_ = 0;
  if (frame.size() < kAddresses + kEtherType || offload.segment_size == 0) return false;
  const std::size_t shift = tag ? kTag : 0;
  const std::size_t copied = std::min(frame.size(), kMostHeaders - kTag);
  std::copy_n(frame.begin(), kAddresses, headers_.begin());
  if (tag) std::copy_n(tag->begin(), kTag, headers_.begin() + kAddresses);
  std::copy(frame.begin() + kAddresses, frame.begin() + static_cast<std::ptrdiff_t>(copied),
            headers_.begin() + static_cast<std::ptrdiff_t>(kAddresses + shift));
  if (!find_headers(copied + shift)) return false;
  // A tunnel: the checksum is that of an inner header.
  if (offload.checksum_missing && offload.checksum_start + shift != transport_) return false;
  payload_ = frame.subspan(header_size_ - shift);
  return !payload_.empty();
}

/// Finds the headers in the first `limit` bytes of headers_.
bool Segmenter::find_headers(std::size_t limit) noexcept {
  const auto* bytes = headers_.data();
  network_ = kAddresses + kEtherType;
  while (network_ + kTag <= limit && is_tag(load16(bytes + network_ - kEtherType)))
    network_ += kTag;
  const std::uint16_t type = load16(bytes + network_ - kEtherType);
  ipv4_ = type == kTypeIpv4;
  if (ipv4_) {
    if (network_ + kIpv4Header > limit) return false;
    transport_ = network_ + (std::to_integer<std::size_t>(bytes[network_]) & 0xf) * 4;
    protocol_ = std::to_integer<std::uint8_t>(bytes[network_ + kIpv4Protocol]);
    if (transport_ < network_ + kIpv4Header) return false;
  } else if (type != kTypeIpv6 || !find_ipv6_transport(limit)) {
    return false;
  }
  const bool tcp = offload_.segments == Offload::Segments::tcp_ipv4 ||
                   offload_.segments == Offload::Segments::tcp_ipv6;
  if (protocol_ != (tcp ? IPPROTO_TCP : IPPROTO_UDP)) return false;
  if (transport_ + (tcp ? kTcpHeader : kUdpHeader) > limit) return false;
  header_size_ = transport_ + transport_header();
  no_checksum_ =
      !tcp && !offload_.checksum_missing && load16(bytes + transport_ + kUdpChecksum) == 0;
  return header_size_ <= limit && header_size_ >= transport_ + (tcp ? kTcpHeader : kUdpHeader);
}

/// Walks over extension headers.
bool Segmenter::find_ipv6_transport(std::size_t limit) noexcept {
  const auto* bytes = headers_.data();
  transport_ = network_ + kIpv6Header;
  if (transport_ > limit) return false;
  protocol_ = std::to_integer<std::uint8_t>(bytes[network_ + kIpv6Next]);
  while (protocol_ == IPPROTO_HOPOPTS || protocol_ == IPPROTO_ROUTING ||
         protocol_ == IPPROTO_DSTOPTS) {
    if (transport_ + 8 > limit) return false;
    protocol_ = std::to_integer<std::uint8_t>(bytes[transport_]);
    transport_ += 8 * (std::to_integer<std::size_t>(bytes[transport_ + 1]) + 1);
  }
  return transport_ <= limit;
}

std::size_t Segmenter::transport_header() const noexcept {
  if (protocol_ == IPPROTO_UDP) return kUdpHeader;
  return std::to_integer<std::size_t>(headers_[transport_ + kTcpOffset] >> 4) * 4;
}

std::size_t Segmenter::next_size() const noexcept {
  return header_size_ + std::min<std::size_t>(offload_.segment_size, payload_.size() - sent_);
}

void Segmenter::write(std::byte* out) noexcept {
  const std::size_t size = next_size();
  const std::size_t piece = size - header_size_;
  std::memcpy(out, headers_.data(), header_size_);
  std::memcpy(out + header_size_, payload_.data() + sent_, piece);
  finish_network(out + network_, size - network_);
  finish_transport(out, size);
  sent_ += piece;
  ++index_;
}

/// Length, identification and checksum of the IP header; `size` is the IP packet's.
void Segmenter::finish_network(std::byte* ip, std::size_t size) const noexcept {
  if (!ipv4_) {
    store16(ip + kIpv6Length, size - kIpv6Header);
    return;
  }
  store16(ip + kIpv4Length, size);
  const std::uint16_t id = load16(ip + kIpv4Id);
  const bool dont_fragment = (ip[kIpv4Flags] & std::byte{0x40}) != std::byte{0};
  if (id != 0 || !dont_fragment) store16(ip + kIpv4Id, static_cast<std::uint16_t>(id + index_));
  store16(ip + kIpv4Checksum, 0);
  store_sum(ip + kIpv4Checksum, static_cast<std::uint16_t>(~sum(ip, transport_ - network_)));
}

/// Sequence number and flags, or UDP's length, and the checksum.
void Segmenter::finish_transport(std::byte* frame, std::size_t size) const noexcept {
  std::byte* const header = frame + transport_;
  const std::size_t length = size - transport_;
  const bool udp = protocol_ == IPPROTO_UDP;
  if (udp) {
    store16(header + kUdpLength, length);
    if (no_checksum_) return;
  } else {
    store32(header + kTcpSequence,
            load32(header + kTcpSequence) + static_cast<std::uint32_t>(sent_));
    std::uint8_t flags = std::to_integer<std::uint8_t>(header[kTcpFlags]);
    const bool last = sent_ + (size - header_size_) == payload_.size();
    if (!last) flags &= static_cast<std::uint8_t>(~(kFin | kPsh));
    if (index_ > 0 && offload_.first_segment_has_cwr) flags &= static_cast<std::uint8_t>(~kCwr);
    header[kTcpFlags] = std::byte{flags};
  }
  std::byte* const field = header + (udp ? kUdpChecksum : kTcpChecksum);
  store16(field, 0);
  const std::byte* addresses = frame + network_ + (ipv4_ ? kIpv4Addresses : kIpv6Addresses);
  std::uint16_t total = sum(addresses, ipv4_ ? 8 : 32);
  total = sum(total, sum(term(protocol_), term(length)));
  total = sum(total, sum(header, length));
  const auto checksum = static_cast<std::uint16_t>(~total);
  store_sum(field, udp && checksum == 0 ? 0xffff : checksum);
}

}  // namespace lw::nic
