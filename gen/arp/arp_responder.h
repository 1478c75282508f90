// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "wire/address.h"
#include "wire/view.h"
#include "wire/vlan.h"

namespace lw::gen {

/// An address that a generator claims for itself.
struct OwnAddress {
  wire::MacAddress mac;
  wire::IpAddress ip;
  friend auto operator<=>(const OwnAddress&, const OwnAddress&) = default;
};

/// What makes a generator a station that switches and routers can find: it answers ARP requests,
/// IPv6 neighbour solicitations (also those of duplicate address detection) and pings for its own
/// addresses. Frames in, frames out: no port and no clock. One thread.
class ArpResponder {
 public:
  /// The same address twice counts once; the first MAC address is its own.
  explicit ArpResponder(std::vector<OwnAddress> own);

  [[nodiscard]] bool empty() const noexcept { return own_.empty(); }

  /// Writes the answer to a frame into `out`, which is resized; false where none is due. The answer
  /// carries the VLAN tags that the question had. Anything may stand in `frame`.
  bool answer(wire::Bytes frame, std::vector<std::byte>& out) const;

 private:
  [[nodiscard]] const OwnAddress* find(const wire::IpAddress& ip) const noexcept;

  std::vector<OwnAddress> own_;  // by address
};

/// The question for a neighbour's MAC address: an ARP request or a neighbour solicitation.
/// `asker` and `target` are of one family.
std::vector<std::byte> neighbor_request(const OwnAddress& asker,
                                        std::span<const wire::VlanFields> vlans,
                                        const wire::IpAddress& target);

/// Which address stands behind which MAC address.
struct NeighborEntry {
  wire::IpAddress ip;
  wire::MacAddress mac;
  friend bool operator==(const NeighborEntry&, const NeighborEntry&) = default;
};

/// What a frame, an ARP message or a sound neighbour advertisement, tells of its sender; nothing
/// where it is something else.
std::optional<NeighborEntry> neighbor_entry_in(wire::Bytes frame);

}  // namespace lw::gen
