// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wire/ethernet.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/udp.h"
#include "wire/view.h"
#include "wire/vlan.h"

namespace lw::roce {

using wire::Bytes;

/// The header that a capture's frames begin with.
enum class LinkType : std::uint8_t { ethernet, raw_ip, linux_sll, linux_sll2 };

/// Returns the link type for a capture file's link-type number; nothing if it isn't supported. The
/// numbers are those of tcpdump.org's registry (LINKTYPE_ETHERNET, _RAW, _LINUX_SLL, _IPV4, _IPV6,
/// _SLL2).
constexpr std::optional<LinkType> link_of(int link_type) noexcept {
  switch (link_type) {
    case 1:
      return LinkType::ethernet;
    case 101:
    case 228:
    case 229:
      return LinkType::raw_ip;
    case 113:
      return LinkType::linux_sll;
    case 276:
      return LinkType::linux_sll2;
    default:
      return std::nullopt;
  }
}

/// The layers below the BTH, in place: pointers into the frame's bytes, null where the frame has no
/// such layer or its bytes end before it. They live as long as the bytes.
struct Envelope {
  Bytes bytes;                  // as captured, from the link header
  std::size_t wire_length = 0;  // length on the wire; more than bytes.size() if the capture is cut

  const wire::Ethernet* ethernet = nullptr;
  const wire::Vlan* vlans[2] = {};  // outer first; deeper tags are skipped
  int vlan_count = 0;
  std::uint16_t ether_type = 0;  // after the tags
  bool plain = false;            // is_plain_rocev2(), on Ethernet: its layers have fixed offsets

  const wire::Ipv4* ipv4 = nullptr;
  const wire::Ipv6* ipv6 = nullptr;
  const wire::Grh* grh = nullptr;  // RoCEv1
  std::size_t network_offset = 0;
  std::size_t network_end = 0;  // end of the packet by its IP length; 0: no network layer

  std::uint8_t protocol = 0;  // IP protocol of the upper layer, or the GRH's next header
  std::size_t transport_offset = 0;
  bool fragment = false;        // a fragment of an IP packet
  bool first_fragment = false;  // the fragment that holds the UDP header
  std::uint32_t fragment_id = 0;
  const wire::Udp* udp = nullptr;
  bool other_port = false;  // UDP that carries RoCE on another port, as the reader found

  /// True for UDP to port 4791 or other_port, or a GRH with next header BTH. Source port and opcode
  /// are not checked.
  [[nodiscard]] bool is_roce() const noexcept {
    if (grh) return protocol == wire::kNextHeaderBth;
    return udp && (udp->destination_port.get() == wire::kRoceV2Port || other_port);
  }
  /// Whether the frame ended on the wire before its IP packet does: something has cut it. What
  /// takes the last four bytes for an FCS cuts those alone.
  [[nodiscard]] bool is_trimmed() const noexcept {
    constexpr std::size_t kFcs = 4;
    return network_end > wire_length + kFcs && bytes.size() == wire_length;
  }
  /// Offset of the BTH. Only for is_roce().
  [[nodiscard]] std::size_t bth_offset() const noexcept {
    return transport_offset + (udp ? sizeof(wire::Udp) : 0);
  }
  [[nodiscard]] wire::Encapsulation encapsulation() const noexcept {
    if (grh) return wire::Encapsulation::grh;
    return ipv4 ? wire::Encapsulation::ipv4 : wire::Encapsulation::ipv6;
  }

  [[nodiscard]] std::string source() const;  // IP address or GID; empty without a network layer
  [[nodiscard]] std::string destination() const;
  [[nodiscard]] std::uint8_t dscp() const noexcept {
    if (ipv4) return ipv4->dscp();
    if (ipv6) return ipv6->dscp();
    return grh ? grh->dscp() : std::uint8_t{0};
  }
  [[nodiscard]] std::uint8_t ecn() const noexcept {
    if (ipv4) return ipv4->ecn();
    if (ipv6) return ipv6->ecn();
    return grh ? grh->ecn() : std::uint8_t{0};
  }
  [[nodiscard]] std::uint8_t hop_limit() const noexcept;
};

/// Fills `envelope` with the layers of a frame of any kind. Never fails; reads nothing outside
/// `bytes`. Requires wire_length >= bytes.size().
void open_envelope(Envelope& envelope, Bytes bytes, std::size_t wire_length,
                   LinkType link = LinkType::ethernet) noexcept;
inline Envelope open_envelope(Bytes bytes, std::size_t wire_length,
                              LinkType link = LinkType::ethernet) noexcept {
  Envelope envelope;
  open_envelope(envelope, bytes, wire_length, link);
  return envelope;
}
inline Envelope open_envelope(Bytes bytes) noexcept { return open_envelope(bytes, bytes.size()); }

/// Opens the layers of a frame anew, from the ethertype (or VLAN tags) at offset `type_at` on,
/// behind headers that open_envelope() does not know. Offsets stay those of the whole frame.
void reopen_from_type(Envelope& envelope, std::size_t type_at) noexcept;

enum class IcrcVerdict : std::uint8_t {
  not_roce,
  ok,
  bad,
  unverifiable,  // its position is unknown: a cut frame, a fragment, or contradicting lengths
};

/// Checks the ICRC of a frame of any opcode: a flipped opcode bit is a bad ICRC.
IcrcVerdict check_icrc(const Envelope& envelope) noexcept;

/// Offset of the frame's ICRC from its start, in bytes; nothing where unverifiable.
std::optional<std::size_t> icrc_offset(const Envelope& envelope) noexcept;

/// The expected ICRC of a frame, and its offset in bytes; nothing where unverifiable.
struct IcrcPlace {
  std::size_t offset;
  std::uint32_t expected;
};
std::optional<IcrcPlace> expected_icrc(const Envelope& envelope) noexcept;

}  // namespace lw::roce
