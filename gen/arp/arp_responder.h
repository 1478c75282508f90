// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "wire/address.h"
#include "wire/view.h"
#include "wire/vlan.h"

namespace lw::gen {

/// A generator's own MAC and IP address.
struct OwnAddress {
  wire::MacAddress mac;
  wire::IpAddress ip;
  friend auto operator<=>(const OwnAddress&, const OwnAddress&) = default;
};

/// Answers ARP requests, IPv6 neighbor solicitations (also those of duplicate address detection)
/// and pings for a generator's own addresses, so that switches and routers find it. It has no port
/// and no clock. One thread.
class ArpResponder {
 public:
  /// If several entries have the same IP address, the first one is used.
  explicit ArpResponder(std::vector<OwnAddress> own);

  [[nodiscard]] bool empty() const noexcept { return own_.empty(); }

  /// Writes the answer to `frame`, which may be anything, to `out` and resizes it. Returns false if
  /// there is no answer. The answer has the request's VLAN tags.
  bool answer(wire::Bytes frame, std::vector<std::byte>& out) const;

 private:
  [[nodiscard]] const OwnAddress* find(const wire::IpAddress& ip) const noexcept;

  std::vector<OwnAddress> own_;  // by address
};

/// Returns a request for a neighbor's MAC address: an ARP request or a neighbor solicitation.
/// `sender` and `target` must be of the same IP version.
std::vector<std::byte> neighbor_request(const OwnAddress& sender,
                                        std::span<const wire::VlanFields> vlans,
                                        const wire::IpAddress& target);

/// An IP address and its MAC address.
struct NeighborEntry {
  wire::IpAddress ip;
  wire::MacAddress mac;
  friend bool operator==(const NeighborEntry&, const NeighborEntry&) = default;
};

/// Returns the sender's entry from an ARP message or a valid neighbor advertisement; nothing for
/// other frames.
std::optional<NeighborEntry> neighbor_entry_in(wire::Bytes frame);

}  // namespace lw::gen
