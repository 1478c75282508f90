// SPDX-License-Identifier: BSD-3-Clause
#include "roce/tunnel.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace lw::roce {
namespace {

constexpr std::uint16_t kEtherTypeMpls = 0x8847, kEtherTypeMplsMulticast = 0x8848,
                        kEtherTypePppoe = 0x8864, kEtherTypeBridged = 0x6558,
                        kEtherTypeErspan = 0x88be, kEtherTypeErspanIii = 0x22eb;
constexpr std::uint8_t kProtocolIpv4 = 4, kProtocolIpv6 = 41, kProtocolGre = 47,
                       kProtocolMpls = 137, kProtocolEthernet = 143;
constexpr std::uint16_t kVxlanPort = 4789, kGenevePort = 6081, kMplsPort = 6635,
                        kVxlanGpePort = 4790;
// Headers between the MAC addresses and the frame's own ethertype.
constexpr std::uint16_t kEtherTypeArista = 0xd28b, kEtherTypeCmd = 0x8909, kEtherTypeNsh = 0x894f,
                        kEtherTypeEtag = 0x893f, kEtherTypeVntag = 0x8926,
                        kEtherTypeMacsec = 0x88e5;

/// Tunnels that are named but not opened.
struct Closed {
  std::uint16_t number;
  std::string_view name;
};
constexpr Closed kClosedProtocols[] = {
    {50, "ESP"}, {51, "AH"}, {97, "EtherIP"}, {115, "L2TPv3"}, {253, "IFA"}};
constexpr Closed kClosedPorts[] = {
    {1701, "L2TP"},       {2055, "NetFlow"}, {2152, "GTP-U"}, {4341, "LISP"},
    {4500, "ESP in UDP"}, {4739, "IPFIX"},   {6343, "sFlow"}, {8472, "VXLAN on port 8472"},
    {51820, "WireGuard"}};
constexpr Closed kClosedTypes[] = {{0x22f3, "TRILL"},
                                   {0x88e7, "provider backbone bridging"},
                                   {0x8903, "FabricPath"},
                                   {0x892f, "HSR"}};

std::string_view closed_name(std::span<const Closed> list, std::uint16_t number) noexcept {
  const auto found = std::ranges::find(list, number, &Closed::number);
  return found == list.end() ? std::string_view{} : found->name;
}

/// Whether the ethertype identifies an Ethernet frame inside an MPLS pseudowire.
bool is_common_type(std::uint16_t type) noexcept {
  constexpr std::uint16_t kTypes[] = {wire::kEtherTypeIpv4,
                                      wire::kEtherTypeIpv6,
                                      wire::kEtherTypeRoceV1,
                                      wire::kEtherTypeVlan,
                                      wire::kEtherTypeQinq,
                                      kEtherTypeMpls,
                                      kEtherTypeMplsMulticast,
                                      kEtherTypePppoe,
                                      0x0806 /* ARP */,
                                      0x88cc /* LLDP */,
                                      0x8809 /* slow protocols */};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

}  // namespace

/// Reads the headers of one tunnel after another. A function that can't read its header returns
/// false and sets the name for unopened().
class TunnelOpener {
 public:
  TunnelOpener(Envelope& envelope, TunnelStack& stack) noexcept
      : envelope_(envelope), stack_(stack) {}

  void run() noexcept {
    while (!envelope_.is_roce()) {
      const std::size_t opened = stack_.count_;
      if (!enter() || !has_inside()) {
        stack_.count_ = opened;
        return;
      }
      open_inside();
    }
  }

 private:
  /// Content after the header that was read last, from offset_ on.
  enum class Inside : std::uint8_t { nothing, ethernet, ip, mpls, typed };

  bool enter() noexcept;
  bool enter_ip() noexcept;
  bool enter_udp() noexcept;
  bool enter_gre() noexcept;
  bool enter_erspan(bool sequenced) noexcept;
  bool enter_erspan_iii() noexcept;
  bool enter_vxlan() noexcept;
  bool enter_vxlan_gpe() noexcept;
  bool enter_geneve() noexcept;
  bool enter_mpls() noexcept;
  bool enter_pppoe() noexcept;
  bool enter_arista() noexcept;
  bool enter_cmd() noexcept;
  bool enter_nsh() noexcept;
  bool enter_macsec() noexcept;
  bool enter_shim(const char* name, std::size_t size, std::optional<std::uint32_t> number) noexcept;
  bool enter_typed(std::uint16_t ether_type, std::string_view other) noexcept;
  bool inside_mpls() noexcept;
  [[nodiscard]] bool is_whole_ip(unsigned version) const noexcept;
  bool has_inside() noexcept {
    return offset_ < envelope_.bytes.size() || close("tunnel, cut before what it carries");
  }
  void open_inside() noexcept;
  void open_typed() noexcept;

  template <class Number>
  [[nodiscard]] const Number* at(std::size_t offset) const noexcept {
    return offset + sizeof(Number) <= end_ ? wire::view_at<Number>(envelope_.bytes, offset)
                                           : nullptr;
  }
  [[nodiscard]] const wire::Be16* be16(std::size_t offset) const noexcept {
    return at<wire::Be16>(offset);
  }
  [[nodiscard]] const wire::Be32* be32(std::size_t offset) const noexcept {
    return at<wire::Be32>(offset);
  }
  bool close(std::string_view name) noexcept {
    stack_.unopened_ = name;
    return false;
  }
  bool push(const char* name, std::optional<std::uint32_t> number, Inside inside,
            std::size_t offset) noexcept;

  Envelope& envelope_;
  TunnelStack& stack_;
  std::size_t offset_ = 0;  // of the content
  std::size_t end_ = 0;     // end of the content on the wire
  Inside inside_ = Inside::nothing;
};

bool TunnelOpener::push(const char* name, std::optional<std::uint32_t> number, Inside inside,
                        std::size_t offset) noexcept {
  if (stack_.count_ == TunnelStack::kMost) return close("more than 8 tunnels");
  stack_.layers_[stack_.count_++] = {name, number.has_value(), number.value_or(0)};
  if (!stack_.ipv4_ && !stack_.ipv6_) {
    stack_.ipv4_ = envelope_.ipv4;
    stack_.ipv6_ = envelope_.ipv6;
  }
  inside_ = inside;
  offset_ = offset;
  return true;
}

/// Reads a tunnel's headers. False: there is none, or it can't be opened.
bool TunnelOpener::enter() noexcept {
  const bool is_ip = envelope_.ipv4 || envelope_.ipv6;
  end_ = is_ip ? envelope_.network_end : envelope_.wire_length;
  if (is_ip) return enter_ip();
  offset_ = envelope_.network_offset;
  const std::uint16_t type = envelope_.ether_type;
  switch (type) {
    case kEtherTypePppoe:
      return enter_pppoe();
    case kEtherTypeArista:
      return enter_arista();
    case kEtherTypeCmd:
      return enter_cmd();
    case kEtherTypeNsh:
      return enter_nsh();
    case kEtherTypeEtag:  // IEEE 802.1BR: PCP, DEI, two E-CIDs
      return enter_shim("E-tag", 6, {});
    case kEtherTypeVntag:
      return enter_shim("VN-tag", 4, {});
    case kEtherTypeMacsec:
      return enter_macsec();
    default:
      break;
  }
  if (const auto closed = closed_name(kClosedTypes, type); !closed.empty()) return close(closed);
  return (type == kEtherTypeMpls || type == kEtherTypeMplsMulticast) && enter_mpls();
}

bool TunnelOpener::enter_ip() noexcept {
  const std::uint8_t protocol = envelope_.protocol;
  const std::string_view closed = closed_name(kClosedProtocols, protocol);
  if (!closed.empty()) return close(closed);
  offset_ = envelope_.transport_offset;
  const bool has_header = !envelope_.fragment || envelope_.first_fragment;
  const bool is_tunnel = protocol == kProtocolIpv4 || protocol == kProtocolIpv6 ||
                         protocol == kProtocolGre || protocol == kProtocolMpls ||
                         protocol == kProtocolEthernet;
  if (is_tunnel && !has_header) return close("fragment of a tunnel's packet");
  if (protocol == kProtocolIpv4) return push("IPv4 in IP", {}, Inside::ip, offset_);
  if (protocol == kProtocolIpv6) return push("IPv6 in IP", {}, Inside::ip, offset_);
  if (protocol == kProtocolEthernet) return push("Ethernet in IP", {}, Inside::ethernet, offset_);
  if (protocol == kProtocolGre) return enter_gre();
  if (protocol == kProtocolMpls) return enter_mpls();
  return envelope_.udp && enter_udp();
}

bool TunnelOpener::enter_udp() noexcept {
  const std::uint16_t port = envelope_.udp->destination_port.get();
  offset_ += sizeof(wire::Udp);
  if (port == kVxlanPort) return enter_vxlan();
  if (port == kGenevePort) return enter_geneve();
  if (port == kMplsPort) return enter_mpls();
  if (port == kVxlanGpePort) return enter_vxlan_gpe();
  const std::string_view closed = closed_name(kClosedPorts, port);
  return closed.empty() ? false : close(closed);
}

/// | flags 8 | reserved 24 | VNI 24 | reserved 8 |
bool TunnelOpener::enter_vxlan() noexcept {
  constexpr std::uint32_t kHasVni = 0x08000000;
  const auto *flags = be32(offset_), *vni = be32(offset_ + 4);
  if (!vni) return close("VXLAN, cut");
  if (!(flags->get() & kHasVni)) return close("VXLAN without a VNI");
  return push("VXLAN", vni->get() >> 8, Inside::ethernet, offset_ + 8);
}

/// | flags 8 | reserved 16 | next protocol 8 | VNI 24 | reserved 8 |
bool TunnelOpener::enter_vxlan_gpe() noexcept {
  constexpr std::uint32_t kHasNext = 0x04000000;
  const auto *head = be32(offset_), *vni = be32(offset_ + 4);
  if (!vni) return close("VXLAN-GPE, cut");
  const std::uint32_t next = head->get() & 0xff;
  if (!(head->get() & kHasNext)) return enter_vxlan();
  const Inside inside = next == 3 ? Inside::ethernet : Inside::ip;
  if (next == 0 || next > 4) return close("VXLAN-GPE of another protocol");
  return push("VXLAN-GPE", vni->get() >> 8, inside, offset_ + 8) && (next != 4 || enter_nsh());
}

/// | version 2, words of options 6 | flags 8 | protocol 16 | VNI 24 | reserved 8 | options |
bool TunnelOpener::enter_geneve() noexcept {
  const auto *head = be32(offset_), *vni = be32(offset_ + 4);
  if (!vni) return close("Geneve, cut");
  if (head->get() >> 30 != 0) return close("Geneve of another version");
  const std::size_t options = (head->get() >> 24 & 0x3f) * 4;
  return push("Geneve", vni->get() >> 8, Inside::nothing, offset_ + 8 + options) &&
         enter_typed(static_cast<std::uint16_t>(head->get()), "Geneve of another protocol");
}

/// | C, R, K, S, reserved 9, version 3 | protocol 16 | checksum 32 | key 32 | sequence 32 |
/// The last three fields are present if their flags are set.
bool TunnelOpener::enter_gre() noexcept {
  constexpr std::uint32_t kChecksum = 0x80000000, kRouting = 0x40000000, kKey = 0x20000000,
                          kSequence = 0x10000000, kVersion = 0x00070000;
  const wire::Be32* head = be32(offset_);
  if (!head) return close("GRE, cut");
  const std::uint32_t flags = head->get();
  if (flags & kVersion) return close("GRE version 1");
  if (flags & kRouting) return close("GRE with routing");
  const std::size_t key_at = offset_ + 4 + (flags & kChecksum ? 4 : 0);
  const std::size_t behind = key_at + (flags & kKey ? 4 : 0) + (flags & kSequence ? 4 : 0);
  const wire::Be32* key = flags & kKey ? be32(key_at) : nullptr;
  if (behind > std::min(end_, envelope_.bytes.size())) return close("GRE, cut");
  offset_ = behind;
  const auto protocol = static_cast<std::uint16_t>(flags);
  if (protocol == kEtherTypeErspan) return enter_erspan(flags & kSequence);
  if (protocol == kEtherTypeErspanIii) return enter_erspan_iii();
  const bool nvgre = protocol == kEtherTypeBridged && key && !(flags & (kChecksum | kSequence));
  std::optional<std::uint32_t> number;
  if (key) number = key->get() >> (nvgre ? 8 : 0);
  return push(nvgre ? "NVGRE" : "GRE", number, Inside::nothing, behind) &&
         enter_typed(protocol, "GRE of another protocol");
}

/// Type I has no header and no sequence number.
/// | version 4, VLAN 12 | COS 3, En 2, T 1, session 10 | reserved 12, index 20 |
bool TunnelOpener::enter_erspan(bool sequenced) noexcept {
  if (!sequenced) return push("ERSPAN I", {}, Inside::ethernet, offset_);
  const auto *head = be32(offset_), *index = be32(offset_ + 4);
  if (!index) return close("ERSPAN II, cut");
  if (head->get() >> 28 != 1) return close("ERSPAN of another version");
  return push("ERSPAN II", head->get() & 0x3ff, Inside::ethernet, offset_ + 8);
}

/// | version 4, VLAN 12 | COS 3, BSO 2, T 1, session 10 | time stamp 32 |
/// | SGT 16 | P 1, frame type 5, hardware 6, D 1, Gra 2, O 1 | with O: 8 bytes more |
bool TunnelOpener::enter_erspan_iii() noexcept {
  const auto *head = be32(offset_), *last = be32(offset_ + 8);
  if (!last) return close("ERSPAN III, cut");
  if (head->get() >> 28 != 2) return close("ERSPAN of another version");
  const std::uint32_t type = last->get() >> 10 & 0x1f;
  if (type != 0 && type != 2) return close("ERSPAN III of another frame type");
  return push("ERSPAN III", head->get() & 0x3ff, type == 0 ? Inside::ethernet : Inside::ip,
              offset_ + 12 + (last->get() & 1 ? 8 : 0));
}

/// Sets the content by its ethertype. The layer around it was pushed before.
bool TunnelOpener::enter_typed(std::uint16_t ether_type, std::string_view other) noexcept {
  switch (ether_type) {
    case kEtherTypeBridged:
      inside_ = Inside::ethernet;
      return true;
    case wire::kEtherTypeIpv4:
    case wire::kEtherTypeIpv6:
      inside_ = Inside::ip;
      return true;
    case kEtherTypeMpls:
    case kEtherTypeMplsMulticast:
      return enter_mpls();
    default:
      return close(other);
  }
}

/// Reads a label stack up to its last label: | label 20 | class 3 | last 1 | TTL 8 |
bool TunnelOpener::enter_mpls() noexcept {
  constexpr int kMostLabels = 16;
  constexpr std::uint32_t kLast = 0x100;
  for (int i = 0; i < kMostLabels; ++i) {
    const wire::Be32* label = be32(offset_);
    if (!label) return close("MPLS, cut");
    offset_ += 4;
    if (label->get() & kLast)
      return push("MPLS", label->get() >> 12, Inside::nothing, offset_) && inside_mpls();
  }
  return close("MPLS of more than 16 labels");
}

/// Whether an IP packet of this version at offset_ ends where the labels' payload ends.
bool TunnelOpener::is_whole_ip(unsigned version) const noexcept {
  const wire::Be16* length = be16(offset_ + (version == 4 ? 2 : 4));
  if (!length || (version != 4 && version != 6)) return false;
  const std::size_t size = length->get() + (version == 6 ? sizeof(wire::Ipv6) : 0);
  return offset_ + size == end_;
}

/// Labels don't say what they carry: an IP packet begins with its version, a pseudowire with a
/// control word, whose first 16 bits are 0, or with a frame. (RFC 4928; RFC 4448, 4.6)
bool TunnelOpener::inside_mpls() noexcept {
  constexpr std::size_t kTypeOffset = 12, kControlWord = 4;
  const auto* first = be16(offset_);
  if (!first) return close("MPLS, cut");
  const auto is_frame_at = [&](std::size_t offset) {
    const wire::Be16* type = be16(offset + kTypeOffset);
    return type && is_common_type(type->get());
  };
  const unsigned version = first->get() >> 12;
  const bool has_word = first->get() == 0 && is_frame_at(offset_ + kControlWord);
  if (has_word) offset_ += kControlWord;
  if (has_word || (is_frame_at(offset_) && !is_whole_ip(version))) {
    inside_ = Inside::ethernet;
    return true;
  }
  inside_ = Inside::ip;
  return version == 4 || version == 6 || close("MPLS of another protocol");
}

/// | version 4, type 4 | code 8 | session 16 | length 16 | PPP protocol 16 or 8 |: an odd first
/// byte is the whole number. (RFC 1661, 2)
bool TunnelOpener::enter_pppoe() noexcept {
  constexpr std::uint16_t kSessionData = 0x1100, kIpv4 = 0x0021, kIpv6 = 0x0057, kMpls = 0x0281;
  const auto *head = be16(offset_), *session = be16(offset_ + 2), *length = be16(offset_ + 4),
             *number = be16(offset_ + 6);
  if (!number) return close("PPPoE, cut");
  if (head->get() != kSessionData) return close("PPPoE of another version");
  const bool is_short = number->get() & 0x100;
  const int protocol = is_short ? number->get() >> 8 : number->get();
  end_ = std::min<std::size_t>(end_, offset_ + 6 + length->get());
  offset_ += is_short ? 7 : 8;
  if (protocol != kIpv4 && protocol != kIpv6 && protocol != kMpls)
    return close("PPPoE of another protocol");
  return push("PPPoE", session->get(), Inside::ip, offset_) && (protocol != kMpls || enter_mpls());
}

/// A header of `size` bytes behind the ethertype, before the frame's own ethertype.
bool TunnelOpener::enter_shim(const char* name, std::size_t size,
                              std::optional<std::uint32_t> number) noexcept {
  if (!be16(offset_ + size)) return close("header before the ethertype, cut");
  return push(name, number, Inside::typed, offset_ + size);
}

/// A time stamp of a switch: | subtype 16 | version 16 | stamp 64 or 48 |
bool TunnelOpener::enter_arista() noexcept {
  constexpr std::uint16_t kStamp = 1, kLong = 0x10, kShort = 0x20;
  const auto *subtype = be16(offset_), *version = be16(offset_ + 2);
  if (!version) return close("Arista header, cut");
  const auto size = static_cast<std::uint16_t>(version->get() & 0xff);
  if (subtype->get() != kStamp || (size != kLong && size != kShort))
    return close("Arista header of another kind");
  return enter_shim("Arista time stamp", size == kLong ? 12 : 10, {});
}

/// Cisco metadata: | version 8 | length 8, in options | option 16 | security group 16 | ...
bool TunnelOpener::enter_cmd() noexcept {
  const auto *head = be16(offset_), *group = be16(offset_ + 4);
  if (!group) return close("Cisco metadata, cut");
  const std::size_t options = std::max<std::size_t>(head->get() & 0xff, 1);
  return enter_shim("Cisco metadata", 2 + 4 * options, group->get());
}

/// | version 2, O 1, U 1, TTL 6, words 6 | U 4, MD type 4 | next protocol 8 | path 24 | index 8 |
/// then the metadata. (RFC 8300)
bool TunnelOpener::enter_nsh() noexcept {
  const auto *head = be32(offset_), *path = be32(offset_ + 4);
  if (!path) return close("NSH, cut");
  if (head->get() >> 30 != 0) return close("NSH of another version");
  const std::size_t size = std::max<std::size_t>(head->get() >> 16 & 0x3f, 2) * 4;
  const std::uint32_t next = head->get() & 0xff;
  constexpr std::uint32_t kIpv4 = 1, kIpv6 = 2, kEthernet = 3, kMpls = 5;
  if (next != kIpv4 && next != kIpv6 && next != kEthernet && next != kMpls)
    return close("NSH of another protocol");
  const std::size_t behind = offset_ + size;
  if (!push("NSH", path->get() >> 8, next == kEthernet ? Inside::ethernet : Inside::ip, behind))
    return false;
  return next != kMpls || enter_mpls();
}

/// | TCI 6, AN 2 | short length 8 | packet number 32 | SCI 64, if its flag is set |: what is only
/// authenticated can be read. (IEEE 802.1AE, 9.3)
bool TunnelOpener::enter_macsec() noexcept {
  constexpr std::uint16_t kHasSci = 0x2000, kEncrypted = 0x0800, kChanged = 0x0400;
  const auto* head = be16(offset_);
  if (!head) return close("MACsec, cut");
  if (head->get() & (kEncrypted | kChanged)) return close("MACsec, encrypted");
  return enter_shim("MACsec", head->get() & kHasSci ? 14 : 6, {});
}

void TunnelOpener::open_inside() noexcept {
  if (inside_ == Inside::typed) return open_typed();
  const Bytes bytes = envelope_.bytes;
  const std::size_t begin = std::min(offset_, bytes.size());
  const std::size_t end = std::clamp(end_, begin, bytes.size());
  const std::size_t on_wire = end_ > offset_ ? end_ - offset_ : 0;
  envelope_ = open_envelope(bytes.subspan(begin, end - begin), on_wire,
                            inside_ == Inside::ethernet ? LinkType::ethernet : LinkType::raw_ip);
}

/// Opens the frame whose ethertype is at offset_: it keeps the MAC addresses and the wire length.
void TunnelOpener::open_typed() noexcept {
  const Envelope outer = envelope_;
  reopen_from_type(envelope_, offset_);
  envelope_.ethernet = outer.ethernet;
}

void open_tunnels(Envelope& envelope, TunnelStack& stack) noexcept {
  if (!envelope.is_roce()) TunnelOpener(envelope, stack).run();
}

std::string TunnelStack::joined(bool numbers) const {
  std::string text;
  for (const TunnelLayer& layer : layers()) {
    if (!text.empty()) text += " > ";
    text += layer.name;
    if (numbers && layer.numbered) text += fmt::format(" {}", layer.number);
  }
  return text;
}

std::string TunnelStack::names() const { return joined(false); }
std::string TunnelStack::text() const { return joined(true); }

std::string TunnelStack::source() const {
  if (ipv4_) return to_string(ipv4_->source);
  return ipv6_ ? to_string(ipv6_->source) : std::string{};
}

std::string TunnelStack::destination() const {
  if (ipv4_) return to_string(ipv4_->destination);
  return ipv6_ ? to_string(ipv6_->destination) : std::string{};
}

}  // namespace lw::roce
