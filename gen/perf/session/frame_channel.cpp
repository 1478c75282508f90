// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/frame_channel.h"

namespace lw::gen {

roce::FrameFields FrameChannel::fields_to(const Peer& to) const {
  const OwnAddress& peer = to.address;
  roce::FrameFields fields;
  fields.source_mac = own_.mac;
  fields.destination_mac = peer.mac;
  const auto* v4 = std::get_if<wire::Ipv4Address>(&own_.ip);
  if (v4 != nullptr && !rocev1_) {
    fields.ipv4.source = *v4;
    fields.ipv4.destination = std::get<wire::Ipv4Address>(peer.ip);
    fields.ipv4.dont_fragment = true;
  } else {
    fields.encapsulation = rocev1_ ? wire::Encapsulation::grh : wire::Encapsulation::ipv6;
    fields.ipv6.source = gid_of(own_.ip);
    fields.ipv6.destination = gid_of(peer.ip);
  }
  roce::set_class(traffic_to(to), fields);
  return fields;
}

OwnAddress sender_of(const roce::Envelope& envelope) noexcept {
  OwnAddress sender;
  if (envelope.ethernet != nullptr) sender.mac = envelope.ethernet->source;
  if (envelope.ipv4 != nullptr) sender.ip = envelope.ipv4->source;
  if (envelope.ipv6 != nullptr) sender.ip = envelope.ipv6->source;
  if (envelope.grh != nullptr) sender.ip = ip_of(envelope.grh->source);
  return sender;
}

Peer peer_of(const roce::Envelope& envelope) noexcept {
  Peer peer{.address = sender_of(envelope)};
  if (const wire::Vlan* tag = envelope.vlans[0]; tag != nullptr) {
    peer.traffic.vlan = tag->id();
    for (std::size_t i = 0; i < roce::kClassKinds; ++i)
      if (static_cast<roce::ClassKind>(i) != roce::ClassKind::cnp)
        peer.traffic.kinds[i].priority = tag->priority();
  }
  return peer;
}

}  // namespace lw::gen
