// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "roce/link.h"
#include "wire/ethernet.h"
#include "wire/grh.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/udp.h"
#include "wire/view.h"
#include "wire/vlan.h"

namespace lw::roce {

using wire::Bytes;

/// Everything below the BTH, found once and in place: pointers into the frame's bytes, null where
/// the frame has no such layer or its bytes end before it. They live as long as the bytes.
struct Envelope {
  Bytes bytes;                  // as captured, from the link header
  std::size_t wire_length = 0;  // what was on the wire; more than bytes.size() where a capture cut

  const wire::Ethernet* ethernet = nullptr;
  const wire::Vlan* vlans[2] = {};  // outer first; deeper tags are passed over
  int vlan_count = 0;
  std::uint16_t ether_type = 0;  // behind the tags

  const wire::Ipv4* ipv4 = nullptr;
  const wire::Ipv6* ipv6 = nullptr;
  const wire::Grh* grh = nullptr;  // RoCEv1
  std::size_t network_offset = 0;
  std::size_t network_end = 0;  // where the IP length says the packet ends; 0: no network layer

  std::uint8_t protocol = 0;  // of the upper layer; a GRH's next header
  std::size_t transport_offset = 0;
  bool fragment = false;        // a piece of an IP packet
  bool first_fragment = false;  // the piece that holds the UDP header
  std::uint32_t fragment_id = 0;
  const wire::Udp* udp = nullptr;

  /// UDP to port 4791, or a GRH that announces a BTH: the destination decides, nothing else.
  [[nodiscard]] bool is_roce() const noexcept;
  /// Where the BTH begins. Only for is_roce().
  [[nodiscard]] std::size_t bth_offset() const noexcept;
  [[nodiscard]] wire::Encapsulation encapsulation() const noexcept;

  [[nodiscard]] std::string source() const;  // IP address or GID; empty without a network layer
  [[nodiscard]] std::string destination() const;
  [[nodiscard]] std::uint8_t dscp() const noexcept;
  [[nodiscard]] std::uint8_t ecn() const noexcept;
  [[nodiscard]] std::uint8_t hop_limit() const noexcept;
};

/// Opens any frame as far as it goes; never fails, reads nothing outside `bytes`.
/// wire_length >= bytes.size().
Envelope open_envelope(Bytes bytes, std::size_t wire_length,
                       LinkType link = LinkType::ethernet) noexcept;
inline Envelope open_envelope(Bytes bytes) noexcept { return open_envelope(bytes, bytes.size()); }

}  // namespace lw::roce
