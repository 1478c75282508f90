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

/// Returns the fields of a valid frame.
inline roce::FrameFields fields_of(const roce::Frame& frame) {
  roce::FrameFields f;
  take_network(f, frame.envelope);
  f.bth = frame.bth->fields();
  wire::for_each_extension([]<class Header>(wire::Extension, auto& values,
                                            const Header* header) { take_header(values, header); },
                           f, frame);
  return f;
}

}  // namespace lw::test
