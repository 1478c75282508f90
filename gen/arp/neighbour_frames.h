// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "gen/arp/arp_responder.h"
#include "roce/envelope.h"

namespace lw::gen {

/// Somebody asks for an IPv6 address's MAC address.
struct Solicitation {
  wire::Ipv6Address target;
  /// Where the answer goes; nothing when the asker has no address yet and wants to know whether
  /// `target` is free: then everybody hears the answer. (RFC 4862, 5.4)
  std::optional<wire::MacAddress> asker;
};

/// A neighbour solicitation that RFC 4861, 7.1.1 finds valid; nothing else.
std::optional<Solicitation> open_solicitation(const roce::Envelope& envelope);

/// Writes the advertisement that answers it, behind the same VLAN tags: `mac` has the target.
/// (RFC 4861, 7.2.4)
void advertise(const roce::Envelope& envelope, const Solicitation& solicitation,
               const wire::MacAddress& mac, std::vector<std::byte>& out);

/// What a valid neighbour advertisement tells (RFC 4861, 7.1.2); nothing from anything else.
std::optional<NeighborEntry> advertised(const roce::Envelope& envelope);

}  // namespace lw::gen
