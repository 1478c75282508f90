// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/flow/flow_profile.h"
#include "config/toml/table.h"

namespace lw::config {

// The parts of a flow's table, in the order in which they are read: each may look at what those
// before it have filled in. Mistakes are noted in the table's document.

/// What a flow has to know of its profile.
struct FlowContext {
  std::string profile;             // its file; others are looked for beside it
  std::optional<double> link_bps;  // the link's rate, where it is known
};

/// Transport, operation, sizes: fills flow.message. False when no frame could be built from it;
/// then the keys that hang on the operation can't be judged.
bool read_message(const Table& table, const FlowContext& context, Flow& flow);
/// MAC addresses, VLAN tags, IP or GRH, UDP source port.
void read_network(const Table& table, Flow& flow);
/// The destination's MAC address, or who is asked for it. After read_network().
void read_next_hop(const Table& table, Flow& flow);
/// BTH and every extension header; also where messages go in memory.
void read_headers(const Table& table, Flow& flow);
/// Number of messages, rate, arrival, payload.
void read_traffic(const Table& table, const FlowContext& context, Flow& flow);
/// Deliberate faults, `[[flow.fault]]`.
void read_faults(const Table& table, Flow& flow);

/// Refuses keys that are spelled right and have no place in such a flow's frames (an immediate in
/// a plain SEND): they would do nothing, and nobody would notice.
void check_places(const Table& table, const Flow& flow);

/// `[presence]` of the profile's root.
Presence read_presence(const Table& root);

/// All extension headers that the flow's packets carry between them.
wire::ExtensionSet extensions_of(const roce::Message& message);

/// A file that a profile names, looked for beside it.
std::string beside(const std::string& profile, const std::string& file);

}  // namespace lw::config
