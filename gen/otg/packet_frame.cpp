// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/packet_frame.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "gen/otg/limits.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"

namespace lw::gen::otg {
namespace {

constexpr std::size_t kByteBits = 8;
constexpr std::size_t kMacsBytes = 12, kTypeBytes = 2, kTagBytes = 4, kIpv4Bytes = 20,
                      kIpv6Bytes = 40, kUdpBytes = 8;
constexpr std::size_t kBthBytes = 12;
constexpr unsigned kRocePort = 4791, kTagType = 0x8100;
constexpr unsigned kIpv4Type = 0x0800, kIpv6Type = 0x86dd, kUdpProtocol = 17;

// Indices of fields in their tables, in pattern.cpp.
constexpr std::size_t kDst = 0, kSrc = 1, kEtherType = 2;
constexpr std::size_t kTotalLength = 2, kProtocol = 9, kIpv4Src = 10, kIpv4Dst = 11;
constexpr std::size_t kPayloadLength = 3, kNextHeader = 4, kIpv6Src = 6, kIpv6Dst = 7;
constexpr std::size_t kDstPort = 1, kUdpLength = 2;

/// The place of a header among the others: none follows one of a higher rank.
int rank_of(const FlowHeader& header, int before) noexcept {
  if (header.choice == "ethernet") return 0;
  if (header.choice == "vlan") return 1;
  if (header.choice == "ipv4" || header.choice == "ipv6") return 2;
  return header.choice == "udp" ? 3 : before;
}

std::size_t size_of(const FlowHeader& header) {
  if (header.choice == "ethernet") return kMacsBytes;  // its type follows the tags
  if (header.choice == "vlan") return kTagBytes;
  if (header.choice == "ipv4") return kIpv4Bytes;
  if (header.choice == "ipv6") return kIpv6Bytes;
  return header.choice == "udp" ? kUdpBytes : bytes_of_hex(header.custom.bytes)->size();
}

bool is_custom(const FlowHeader& header) noexcept { return header.choice == "custom"; }

/// The pattern of a field whose value users or the model have given; null: computed.
const ValuePattern* given(const Patterns& patterns, std::size_t index) {
  const auto found = patterns.find(index);
  return found == patterns.end() || found->second.choice == "auto" ? nullptr : &found->second;
}

/// RFC 1071, of bytes that begin at an even offset of what is summed.
std::uint64_t sum_of(wire::Bytes bytes) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += std::to_integer<std::uint64_t>(bytes[i]) << (i % 2 == 0 ? kByteBits : 0);
  return sum;
}

std::uint16_t folded(std::uint64_t sum) noexcept {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

std::optional<std::vector<std::byte>> bytes_of_hex(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ' ' && c != ':') digits += c;
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes(digits.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* begin = digits.data() + 2 * i;
    std::uint8_t value = 0;
    const auto [end, error] = std::from_chars(begin, begin + 2, value, 16);
    if (error != std::errc{} || end != begin + 2) return std::nullopt;
    bytes[i] = std::byte{value};
  }
  return bytes;
}

bool check_order(const PlannedPackets& flow, bool tagged, ModelReader& reader) {
  const std::size_t before = reader.problems().size();
  constexpr std::ptrdiff_t kMostTags = 2;
  int rank = -1;
  std::size_t size = kMacsBytes + kTypeBytes + (tagged ? kTagBytes : 0);
  for (std::size_t i = 0; i < flow.headers.size(); ++i) {
    const FlowHeader& header = flow.headers[i];
    const int next = rank_of(header, rank);
    const bool again = next == rank && !is_custom(header) && header.choice != "vlan";
    const bool skips = (rank < 0 && next > 0) || (header.choice == "udp" && rank != 2);
    if (next < rank || again || skips)
      reader.refuse(header.path, fmt::format("a header {} cannot follow: the order is ethernet, "
                                             "vlan, ipv4 or ipv6, udp, with custom in between",
                                             header.choice));
    rank = std::max(rank, next);
    if (is_custom(header) && !bytes_of_hex(header.custom.bytes))
      reader.refuse(header.custom.path + ".bytes", kHexExpected);
    else
      size += size_of(header);
  }
  const auto tags = std::ranges::count(flow.headers, "vlan", &FlowHeader::choice);
  if (tags > kMostTags) reader.refuse(flow.path + ".packet", "expected two VLAN tags at most");
  if (size > kMostHeaderBytes)
    reader.refuse(
        flow.path + ".packet",
        fmt::format("expected headers of at most {} bytes, found {}", kMostHeaderBytes, size));
  return reader.problems().size() == before;
}

PacketLayout layout_of(const PlannedPackets& flow, bool tagged) {
  PacketLayout layout;
  const bool framed = flow.headers.empty() || !is_custom(flow.headers.front());
  const bool has_tag = std::ranges::count(flow.headers, "vlan", &FlowHeader::choice) > 0;
  layout.tag = tagged && !has_tag ? kTagBytes : 0;
  std::size_t at = flow.headers.empty() ? kMacsBytes : 0;
  for (std::size_t i = 0; i < flow.headers.size(); ++i) {
    const FlowHeader& header = flow.headers[i];
    const bool of_link = header.choice == "ethernet" || header.choice == "vlan";
    if (framed && !of_link && !layout.ether_type) {
      layout.ether_type = at + layout.tag;
      at += layout.tag + kTypeBytes;
    }
    layout.headers.push_back(at);
    if (header.choice == "ipv4") layout.ipv4 = at;
    if (header.choice == "ipv6") layout.ipv6 = at;
    if (header.choice == "udp") layout.udp = at;
    const ValuePattern* port =
        header.choice == "udp" ? given(header.udp.fields, kDstPort) : nullptr;
    const bool to_roce = port != nullptr && is_constant(*port) && value_at(*port, 0) == kRocePort;
    layout.roce |=
        to_roce && i + 1 < flow.headers.size() && size_of(flow.headers[i + 1]) >= kBthBytes;
    at += size_of(header);
  }
  if (framed && !layout.ether_type) {
    layout.ether_type = at + layout.tag;
    at += layout.tag + kTypeBytes;
  }
  layout.payload = at;
  return layout;
}

bool has_room(const PlannedPackets& flow, const PacketLayout& layout) noexcept {
  return PacketFrame::length_of(flow.sizes.smallest()) >= layout.least() + kSignatureSize;
}

PacketFrame::PacketFrame(const PlannedPackets& flow, const PacketDefaults* ends)
    : flow_(flow),
      layout_(layout_of(flow, ends != nullptr && ends->vlan)),
      bytes_(std::max(length_of(flow.sizes.largest()), layout_.least())) {
  add_headers();
  if (ends != nullptr) set_ends(*ends);
  set_types();
  set_payload();
  set_mask();
}

void PacketFrame::put(std::size_t at, std::size_t width, Bits value) noexcept {
  put_bits(bytes_, at, width, value);
}

/// Writes what is constant, and notes what is not.
void PacketFrame::add_patterns(const Patterns& patterns, HeaderKind kind, std::size_t at) {
  const auto& fields = table_of(kind).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const PatternField& field = fields[i];
    const bool is_type = kind == HeaderKind::ethernet && i == kEtherType;
    const std::size_t bit = kByteBits * (is_type ? layout_.ether_type.value_or(0) : at) + field.at;
    const ValuePattern* pattern = given(patterns, i);
    if (pattern != nullptr && !is_constant(*pattern))
      varying_.push_back({bit, field.width, pattern});
    else if (pattern != nullptr)
      put(bit, field.width, value_at(*pattern, 0));
    else if (!is_type && !field.fits)
      put(bit, field.width, standard_of(field));
  }
}

void PacketFrame::add_ipv4(const Ipv4Header& header, std::size_t at) {
  ipv4_ = &header;
  add_patterns(header.fields, HeaderKind::ipv4, at);
  if (!header.priority) return;
  const PriorityField& priority = *header.priority;
  if (priority.choice == "raw") add_patterns(priority.raw, HeaderKind::raw, at);
  if (priority.choice == "tos") add_patterns(priority.tos.fields, HeaderKind::tos, at);
  if (priority.choice == "dscp") add_patterns(priority.dscp.fields, HeaderKind::dscp, at);
}

void PacketFrame::add_headers() {
  for (std::size_t i = 0; i < flow_.headers.size(); ++i) {
    const FlowHeader& header = flow_.headers[i];
    const std::size_t at = layout_.headers[i];
    if (header.choice == "ethernet") {
      add_patterns(header.ethernet.fields, HeaderKind::ethernet, at);
    } else if (header.choice == "vlan") {
      put(kByteBits * at, 16, kTagType);
      add_patterns(header.vlan.fields, HeaderKind::vlan, at);
    } else if (header.choice == "ipv4") {
      add_ipv4(header.ipv4, at);
    } else if (header.choice == "ipv6") {
      ipv6_ = &header.ipv6;
      add_patterns(header.ipv6.fields, HeaderKind::ipv6, at);
    } else if (header.choice == "udp") {
      udp_ = &header.udp;
      add_patterns(header.udp.fields, HeaderKind::udp, at);
    } else {
      std::ranges::copy(*bytes_of_hex(header.custom.bytes),
                        bytes_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
}

/// What a flow of devices has where its headers have no value.
void PacketFrame::set_ends(const PacketDefaults& ends) {
  const Patterns none;
  const bool framed = !flow_.headers.empty() && flow_.headers.front().choice == "ethernet";
  const Patterns& ethernet = framed ? flow_.headers.front().ethernet.fields : none;
  if (given(ethernet, kSrc) == nullptr) put(48, 48, bits_of_bytes(ends.source.bytes));
  if (layout_.tag != 0) add_tag(ends);
  const auto* from4 = std::get_if<wire::Ipv4Address>(&ends.from);
  if (ipv4_ != nullptr && from4 != nullptr) {
    const std::size_t at = kByteBits * *layout_.ipv4;
    const Bits to = bits_of_bytes(std::get<wire::Ipv4Address>(ends.to).bytes);
    if (given(ipv4_->fields, kIpv4Src) == nullptr) put(at + 96, 32, bits_of_bytes(from4->bytes));
    if (given(ipv4_->fields, kIpv4Dst) == nullptr) put(at + 128, 32, to);
  }
  const auto* from6 = std::get_if<wire::Ipv6Address>(&ends.from);
  if (ipv6_ != nullptr && from6 != nullptr) {
    const std::size_t at = kByteBits * *layout_.ipv6;
    const Bits to = bits_of_bytes(std::get<wire::Ipv6Address>(ends.to).bytes);
    if (given(ipv6_->fields, kIpv6Src) == nullptr) put(at + 64, 128, bits_of_bytes(from6->bytes));
    if (given(ipv6_->fields, kIpv6Dst) == nullptr) put(at + 192, 128, to);
  }
}

void PacketFrame::set_destination(const wire::MacAddress& mac) noexcept {
  const Patterns none;
  const bool framed = !flow_.headers.empty() && flow_.headers.front().choice == "ethernet";
  const bool has_frame = framed || flow_.headers.empty();
  if (has_frame && given(framed ? flow_.headers.front().ethernet.fields : none, kDst) == nullptr)
    put(0, 48, bits_of_bytes(mac.bytes));
}

void PacketFrame::add_tag(const PacketDefaults& ends) {
  const std::size_t at = kByteBits * (*layout_.ether_type - kTagBytes);
  put(at, 16, kTagType);
  put(at + 16, 3, ends.vlan->priority);
  put(at + 20, 12, ends.vlan->id);
}

/// Types of what follows, where users give none.
void PacketFrame::set_types() {
  const Patterns none;
  const bool framed = !flow_.headers.empty() && flow_.headers.front().choice == "ethernet";
  if (layout_.ether_type &&
      given(framed ? flow_.headers.front().ethernet.fields : none, kEtherType) == nullptr)
    put(kByteBits * *layout_.ether_type, 16,
        layout_.ipv4   ? kIpv4Type
        : layout_.ipv6 ? kIpv6Type
                       : static_cast<unsigned>(
                             standard_of(table_of(HeaderKind::ethernet).fields[kEtherType])));
  if (udp_ == nullptr) return;
  if (ipv4_ != nullptr && given(ipv4_->fields, kProtocol) == nullptr)
    put(kByteBits * *layout_.ipv4 + 72, 8, kUdpProtocol);
  if (ipv6_ != nullptr && given(ipv6_->fields, kNextHeader) == nullptr)
    put(kByteBits * *layout_.ipv6 + 48, 8, kUdpProtocol);
}

void PacketFrame::set_payload() {
  const std::string& kind = flow_.payload;
  const std::size_t size = bytes_.size() - layout_.payload;
  for (std::size_t i = 0; i < size; ++i) {
    // Words are of 16 bits.
    const std::size_t word = i / 2, of_word = i % 2 == 0 ? word >> kByteBits : word;
    std::size_t value = 0;
    if (kind == "increment_byte") value = i;
    if (kind == "decrement_byte") value = 0xff - i % 0x100;
    if (kind == "increment_word") value = of_word;
    if (kind == "decrement_word") value = ~of_word;
    std::byte byte{static_cast<std::uint8_t>(value & 0xff)};
    if (kind == "fixed" && (flow_.repeat || i < flow_.pattern.size()))
      byte = flow_.pattern[i % flow_.pattern.size()];
    bytes_[layout_.payload + i] = byte;
  }
}

/// Routers change the class of traffic, TTL and checksum.
void PacketFrame::set_mask() {
  mask_.assign(layout_.payload, std::byte{0xff});
  const auto ignore = [&](std::size_t bit, std::size_t width) { put_bits(mask_, bit, width, 0); };
  for (const Varying& field : varying_) ignore(field.at, field.width);
  std::fill_n(mask_.begin(), std::min(layout_.ether_type.value_or(0), mask_.size()), std::byte{});
  if (layout_.ipv4) {
    const std::size_t at = kByteBits * *layout_.ipv4;
    ignore(at + 8, 8);
    ignore(at + 16, 16);
    ignore(at + 64, 8);
    ignore(at + 80, 16);
  }
  if (layout_.ipv6) {
    const std::size_t at = kByteBits * *layout_.ipv6;
    ignore(at + 4, 8);
    ignore(at + 32, 16);
    ignore(at + 56, 8);
  }
  if (layout_.udp) ignore(kByteBits * *layout_.udp + 32, 32);
}

bool PacketFrame::matches(wire::Bytes frame) const noexcept {
  if (frame.size() < length_of(flow_.sizes.smallest()) ||
      frame.size() > length_of(flow_.sizes.largest()) || frame.size() < mask_.size())
    return false;
  for (std::size_t i = 0; i < mask_.size(); ++i)
    if (((frame[i] ^ bytes_[i]) & mask_[i]) != std::byte{}) return false;
  return true;
}

void PacketFrame::write(std::uint64_t number, const wire::SignatureFields* signature,
                        wire::MutableBytes out) const noexcept {
  std::copy_n(bytes_.begin(), out.size(), out.begin());
  for (const Varying& field : varying_)
    put_bits(out, field.at, field.width, value_at(*field.pattern, number));
  if (signature != nullptr && is_signed(out.size()))
    wire::view<wire::Signature>(out.subspan(layout_.payload))->set(*signature);
  write_lengths(out);
  write_checksums(out);
  if (!layout_.roce) return;
  const std::size_t network = layout_.ipv4 ? *layout_.ipv4 : *layout_.ipv6;
  const std::size_t end = out.size() - wire::kIcrcSize;
  wire::store_icrc(
      out.subspan(end),
      wire::icrc(layout_.ipv4 ? wire::Encapsulation::ipv4 : wire::Encapsulation::ipv6,
                 out.subspan(network, end - network), *layout_.udp + kUdpBytes - network));
}

void PacketFrame::write_lengths(wire::MutableBytes out) const noexcept {
  if (ipv4_ != nullptr && given(ipv4_->fields, kTotalLength) == nullptr)
    put_bits(out, kByteBits * *layout_.ipv4 + 16, 16, out.size() - *layout_.ipv4);
  if (ipv6_ != nullptr && given(ipv6_->fields, kPayloadLength) == nullptr)
    put_bits(out, kByteBits * *layout_.ipv6 + 32, 16, out.size() - *layout_.ipv6 - kIpv6Bytes);
  if (udp_ != nullptr && given(udp_->fields, kUdpLength) == nullptr)
    put_bits(out, kByteBits * *layout_.udp + 32, 16, out.size() - *layout_.udp);
}

void PacketFrame::write_checksums(wire::MutableBytes out) const noexcept {
  if (ipv4_ != nullptr) {
    const ChecksumField& checksum = ipv4_->checksum;
    const std::uint16_t right = wire::ipv4_checksum(out.subspan(*layout_.ipv4, kIpv4Bytes));
    const bool bad = checksum.generated == "bad";
    put_bits(out, kByteBits * *layout_.ipv4 + 80, 16,
             checksum.choice == "custom" ? checksum.custom : right ^ (bad ? 1U : 0U));
  }
  if (udp_ != nullptr) write_udp_checksum(out);
}

/// RFC 768 and RFC 8200, 8.1. A checksum of 0 is sent as 0xffff.
void PacketFrame::write_udp_checksum(wire::MutableBytes out) const noexcept {
  const std::size_t bit = kByteBits * *layout_.udp + 48;
  put_bits(out, bit, 16, 0);
  const auto& checksum = udp_->checksum;
  if (!checksum && layout_.roce) return;
  if (checksum && checksum->choice == "custom") return put_bits(out, bit, 16, checksum->custom);
  const wire::Bytes datagram = out.subspan(*layout_.udp);
  const wire::Bytes addresses =
      layout_.ipv4 ? out.subspan(*layout_.ipv4 + 12, 8) : out.subspan(*layout_.ipv6 + 8, 32);
  std::uint16_t right =
      folded(sum_of(datagram) + sum_of(addresses) + kUdpProtocol + datagram.size());
  if (checksum && checksum->generated == "bad") right ^= 1;
  put_bits(out, bit, 16, right == 0 ? 0xffff : right);
}

}  // namespace lw::gen::otg
