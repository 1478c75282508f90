// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "roce/compose.h"

namespace lw::test {

template <class Fields, class Header>
void take_header(Fields& fields, const Header* header) {
  if (header) fields = header->fields();
}

inline void take_network(roce::FrameFields& f, const roce::Envelope& e) {
  f.encapsulation = e.encapsulation();
  f.source_mac = e.ethernet->source;
  f.destination_mac = e.ethernet->destination;
  for (int i = 0; i < e.vlan_count; ++i) f.vlans.push_back(e.vlans[i]->fields());
  take_header(f.ipv4, e.ipv4);
  take_header(f.ipv6, e.ipv6 ? e.ipv6 : e.grh);
  if (e.udp) f.source_port = e.udp->source_port.get();
}

/// All that a sound frame says, as values.
inline roce::FrameFields fields_of(const roce::Frame& frame) {
  roce::FrameFields f;
  take_network(f, frame.envelope);
  f.bth = frame.bth->fields();
  take_header(f.rdeth, frame.rdeth);
  take_header(f.deth, frame.deth);
  take_header(f.xrceth, frame.xrceth);
  take_header(f.feth, frame.feth);
  take_header(f.reth, frame.reth);
  take_header(f.atomiceth, frame.atomiceth);
  take_header(f.aeth, frame.aeth);
  take_header(f.atomicacketh, frame.atomicacketh);
  take_header(f.immdt, frame.immdt);
  take_header(f.ieth, frame.ieth);
  return f;
}

}  // namespace lw::test
