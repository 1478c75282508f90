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

/// Returns the one's complement sum of bytes, in network byte order, not complemented.
std::uint16_t sum(const std::byte* bytes, std::size_t size) noexcept {
  return rte_raw_cksum(bytes, size);
}
std::uint16_t sum(std::uint16_t first, std::uint16_t second) noexcept {
  const std::uint32_t both = std::uint32_t{first} + second;
  return static_cast<std::uint16_t>(both + (both >> 16));
}
/// Converts a number to a term of such a sum.
std::uint16_t term(std::size_t value) noexcept {
  return std::byteswap(static_cast<std::uint16_t>(value));
}

void store_sum(std::byte* at, std::uint16_t value) noexcept {
  std::memcpy(at, &value, sizeof value);
}

bool is_tag(std::uint16_t type) noexcept { return type == kTypeVlan || type == kTypeServiceVlan; }

// From linux/virtio_net.h, which C++ can't include because a field is named `class`.
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
  checksum_start_ = offload.checksum_start + shift;
  if (!find_headers(copied + shift)) return false;
  payload_ = frame.subspan(header_size_ - shift);
  return !payload_.empty();
}

/// Finds the headers in the first `limit` bytes of headers_.
bool Segmenter::find_headers(std::size_t limit) noexcept {
  tunnel_.reset();
  auto found = layer_at(kAddresses, limit);
  if (found && !is_segmented(*found)) {
    tunnel_ = found;
    found = inside(*tunnel_, limit);
  }
  if (!found || !is_segmented(*found)) return false;
  layer_ = *found;
  return find_transport(limit);
}

bool Segmenter::find_transport(std::size_t limit) noexcept {
  const bool tcp = layer_.protocol == IPPROTO_TCP;
  const std::size_t least = tcp ? kTcpHeader : kUdpHeader;
  if (layer_.transport + least > limit) return false;
  header_size_ = layer_.transport + transport_header();
  no_checksum_ = !tcp && !offload_.checksum_missing &&
                 load16(headers_.data() + layer_.transport + kUdpChecksum) == 0;
  return header_size_ <= limit && header_size_ >= layer_.transport + least;
}

/// Returns true if this layer has the transport header that the kernel left to segment and, if a
/// checksum is missing, whose checksum is missing.
bool Segmenter::is_segmented(const Layer& layer) const noexcept {
  using enum Offload::Segments;
  const bool tcp = offload_.segments == tcp_ipv4 || offload_.segments == tcp_ipv6;
  if (layer.protocol != (tcp ? IPPROTO_TCP : IPPROTO_UDP)) return false;
  return !offload_.checksum_missing || checksum_start_ == layer.transport;
}

/// Returns the IP packet in an Ethernet frame whose EtherType, or first tag, is at `type`.
std::optional<Segmenter::Layer> Segmenter::layer_at(std::size_t type,
                                                    std::size_t limit) const noexcept {
  const auto* bytes = headers_.data();
  while (type + kEtherType + kTag <= limit && is_tag(load16(bytes + type))) type += kTag;
  if (type + kEtherType > limit) return std::nullopt;
  const std::uint16_t is = load16(bytes + type);
  if (is != kTypeIpv4 && is != kTypeIpv6) return std::nullopt;
  return ip_at(type + kEtherType, is == kTypeIpv4, limit);
}

/// Returns the IP packet at `network`; skips IPv6 extension headers.
std::optional<Segmenter::Layer> Segmenter::ip_at(std::size_t network, bool ipv4,
                                                 std::size_t limit) const noexcept {
  const auto* bytes = headers_.data();
  Layer layer{network, network + (ipv4 ? kIpv4Header : kIpv6Header), 0, ipv4};
  if (layer.transport > limit) return std::nullopt;
  layer.protocol =
      std::to_integer<std::uint8_t>(bytes[network + (ipv4 ? kIpv4Protocol : kIpv6Next)]);
  if (ipv4) {
    layer.transport = network + (std::to_integer<std::size_t>(bytes[network]) & 0xf) * 4;
    if (layer.transport < network + kIpv4Header) return std::nullopt;
  } else {
    while (layer.protocol == IPPROTO_HOPOPTS || layer.protocol == IPPROTO_ROUTING ||
           layer.protocol == IPPROTO_DSTOPTS) {
      if (layer.transport + 8 > limit) return std::nullopt;
      layer.protocol = std::to_integer<std::uint8_t>(bytes[layer.transport]);
      layer.transport += 8 * (std::to_integer<std::size_t>(bytes[layer.transport + 1]) + 1);
    }
  }
  return layer.transport <= limit ? std::optional(layer) : std::nullopt;
}

/// Returns the IP packet in a tunnel; nothing if it is not a supported tunnel.
std::optional<Segmenter::Layer> Segmenter::inside(const Layer& outer,
                                                  std::size_t limit) const noexcept {
  switch (outer.protocol) {
    case IPPROTO_IPIP:
    case IPPROTO_IPV6:
      return ip_at(outer.transport, outer.protocol == IPPROTO_IPIP, limit);
    case IPPROTO_GRE:
      return inside_gre(outer.transport, limit);
    case IPPROTO_UDP:
      return inside_udp(outer.transport, limit);
    default:
      return std::nullopt;
  }
}

/// Returns the packet in Geneve, or in VXLAN: at its port, at Linux' default port, or at another
/// one with the header that Linux writes.
std::optional<Segmenter::Layer> Segmenter::inside_udp(std::size_t udp,
                                                      std::size_t limit) const noexcept {
  constexpr std::uint16_t kVxlan = 4789, kVxlanOfLinux = 8472, kGeneve = 6081;
  constexpr std::uint32_t kWithNumber = 0x0800'0000;  // RFC 7348: flag I, and reserved bits
  constexpr std::size_t kHeader = 8;                  // of VXLAN, and of Geneve without options
  if (udp + kUdpHeader + kHeader > limit) return std::nullopt;
  const std::uint16_t port = load16(headers_.data() + udp + 2);
  std::size_t ethernet = udp + kUdpHeader + kHeader;
  if (port == kGeneve) {
    ethernet += 4 * (std::to_integer<std::size_t>(headers_[udp + kUdpHeader]) & 0x3f);
  } else if (port != kVxlan && port != kVxlanOfLinux &&
             load32(headers_.data() + udp + kUdpHeader) != kWithNumber) {
    return std::nullopt;
  }
  return layer_at(ethernet + kAddresses, limit);
}

/// Returns the packet in GRE, with or without a key.
std::optional<Segmenter::Layer> Segmenter::inside_gre(std::size_t gre,
                                                      std::size_t limit) const noexcept {
  constexpr unsigned kKey = 0x2000, kOtherFlags = 0xffff & ~kKey;
  constexpr std::uint16_t kEthernet = 0x6558;
  constexpr std::size_t kHeader = 4, kKeySize = 4;
  if (gre + kHeader > limit) return std::nullopt;
  const std::uint16_t flags = load16(headers_.data() + gre);
  const std::uint16_t type = load16(headers_.data() + gre + 2);
  if ((flags & kOtherFlags) != 0) return std::nullopt;
  const std::size_t packet = gre + kHeader + ((flags & kKey) != 0 ? kKeySize : 0);
  if (type == kEthernet) return layer_at(packet + kAddresses, limit);
  if (type != kTypeIpv4 && type != kTypeIpv6) return std::nullopt;
  return ip_at(packet, type == kTypeIpv4, limit);
}

std::size_t Segmenter::transport_header() const noexcept {
  if (layer_.protocol == IPPROTO_UDP) return kUdpHeader;
  return std::to_integer<std::size_t>(headers_[layer_.transport + kTcpOffset] >> 4) * 4;
}

std::size_t Segmenter::next_size() const noexcept {
  return header_size_ + std::min<std::size_t>(offload_.segment_size, payload_.size() - sent_);
}

void Segmenter::write(std::byte* out) noexcept {
  const std::size_t size = next_size();
  const std::size_t piece = size - header_size_;
  std::memcpy(out, headers_.data(), header_size_);
  std::memcpy(out + header_size_, payload_.data() + sent_, piece);
  finish_network(out, layer_, size);
  finish_transport(out, size);
  if (tunnel_) finish_tunnel(out, size);
  sent_ += piece;
  ++index_;
}

/// Sets length, identification and checksum of an IP header.
void Segmenter::finish_network(std::byte* frame, const Layer& layer,
                               std::size_t size) const noexcept {
  std::byte* const ip = frame + layer.network;
  if (!layer.ipv4) {
    store16(ip + kIpv6Length, size - layer.network - kIpv6Header);
    return;
  }
  store16(ip + kIpv4Length, size - layer.network);
  const std::uint16_t id = load16(ip + kIpv4Id);
  const bool dont_fragment = (ip[kIpv4Flags] & std::byte{0x40}) != std::byte{0};
  if (id != 0 || !dont_fragment) store16(ip + kIpv4Id, static_cast<std::uint16_t>(id + index_));
  store16(ip + kIpv4Checksum, 0);
  store_sum(ip + kIpv4Checksum,
            static_cast<std::uint16_t>(~sum(ip, layer.transport - layer.network)));
}

/// Returns the checksum of a transport header, including its pseudo header. Its checksum field is
/// 0.
std::uint16_t Segmenter::checksum_of(const std::byte* frame, const Layer& layer,
                                     std::size_t size) noexcept {
  const std::size_t length = size - layer.transport;
  const std::byte* addresses =
      frame + layer.network + (layer.ipv4 ? kIpv4Addresses : kIpv6Addresses);
  std::uint16_t total = sum(addresses, layer.ipv4 ? 8 : 32);
  total = sum(total, sum(term(layer.protocol), term(length)));
  total = sum(total, sum(frame + layer.transport, length));
  const auto checksum = static_cast<std::uint16_t>(~total);
  return layer.protocol == IPPROTO_UDP && checksum == 0 ? 0xffff : checksum;
}

/// Completes the outer headers. A UDP checksum of 0 means none, and stays.
void Segmenter::finish_tunnel(std::byte* frame, std::size_t size) const noexcept {
  finish_network(frame, *tunnel_, size);
  if (tunnel_->protocol != IPPROTO_UDP) return;
  std::byte* const udp = frame + tunnel_->transport;
  store16(udp + kUdpLength, size - tunnel_->transport);
  if (load16(udp + kUdpChecksum) == 0) return;
  store16(udp + kUdpChecksum, 0);
  store_sum(udp + kUdpChecksum, checksum_of(frame, *tunnel_, size));
}

/// Sets sequence number and flags, or UDP's length, and the checksum.
void Segmenter::finish_transport(std::byte* frame, std::size_t size) const noexcept {
  std::byte* const header = frame + layer_.transport;
  const bool udp = layer_.protocol == IPPROTO_UDP;
  if (udp) {
    store16(header + kUdpLength, size - layer_.transport);
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
  store_sum(field, checksum_of(frame, layer_, size));
}

}  // namespace lw::nic
