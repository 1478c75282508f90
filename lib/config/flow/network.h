// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/flow/profile.h"

namespace lw::config {

class Table;

// Errors are recorded in the tables' document.

/// Reads MAC addresses, VLAN tags, and the IP header or GRH.
void read_network(const Table& table, Flow& flow);

/// Reads the destination MAC address, or the next hop that ARP resolves. Call it after
/// read_network().
void read_next_hop(const Table& table, Flow& flow);

/// Reads `[presence]` of the profile's root.
ArpConfig read_arp_config(const Table& root);

}  // namespace lw::config
