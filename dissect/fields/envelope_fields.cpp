// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "dissect/fields/fields.h"

namespace lw::dissect {
namespace {

/// "1700000000.123456789": as text, for a double would lose the nanoseconds.
std::string epoch_of(Instant stamp) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const std::int64_t ns = to_ns(stamp);
  if (ns >= 0) return fmt::format("{}.{:09}", ns / kNsPerSecond, ns % kNsPerSecond);
  return fmt::format("-{}.{:09}", -(ns / kNsPerSecond), -(ns % kNsPerSecond));
}

void append_record(FieldList& fields, const CapturedFrame& captured) {
  const capture::Record& record = captured.record;
  fields.number("frame.number", captured.number);
  fields.text("frame.time_epoch", epoch_of(record.stamp));
  fields.number("frame.len", record.wire_length);
  fields.number("frame.cap_len", record.bytes.size());
  fields.number("frame.interface_id", record.interface);
  if (!record.comment.empty()) fields.text("frame.comment", std::string(record.comment));
}

/// Two tags as Wireshark prints them in one column: "100,200", the outer first.
void append_vlans(FieldList& fields, const roce::Envelope& envelope) {
  if (envelope.vlan_count == 1) {
    fields.number("vlan.id", envelope.vlans[0]->id());
    fields.number("vlan.priority", envelope.vlans[0]->priority());
  } else if (envelope.vlan_count == 2) {
    const auto &outer = *envelope.vlans[0], &inner = *envelope.vlans[1];
    fields.text("vlan.id", fmt::format("{},{}", outer.id(), inner.id()));
    fields.text("vlan.priority", fmt::format("{},{}", outer.priority(), inner.priority()));
  }
}

void append_ipv4(FieldList& fields, const wire::Ipv4& ip) {
  fields.text("ip.src", to_string(ip.source));
  fields.text("ip.dst", to_string(ip.destination));
  fields.number("ip.dsfield.dscp", ip.dscp());
  fields.number("ip.dsfield.ecn", ip.ecn());
  fields.hex("ip.id", ip.id.get(), 4);
  fields.number("ip.ttl", ip.ttl.get());
  fields.number("ip.proto", ip.protocol.get());
}

void append_ipv6(FieldList& fields, const wire::Ipv6& ip) {
  fields.text("ipv6.src", to_string(ip.source));
  fields.text("ipv6.dst", to_string(ip.destination));
  fields.number("ipv6.tclass.dscp", ip.dscp());
  fields.number("ipv6.tclass.ecn", ip.ecn());
  fields.hex("ipv6.flow", ip.flow_label(), 6);
  fields.number("ipv6.hlim", ip.hop_limit.get());
  fields.number("ipv6.nxt", ip.next_header.get());
}

void append_grh(FieldList& fields, const wire::Grh& grh) {
  fields.number("infiniband.grh.ipver", grh.version());
  fields.number("infiniband.grh.tclass", grh.traffic_class());
  fields.number("infiniband.grh.flowlabel", grh.flow_label());
  fields.number("infiniband.grh.paylen", grh.payload_length.get());
  fields.number("infiniband.grh.nxthdr", grh.next_header.get());
  fields.number("infiniband.grh.hoplmt", grh.hop_limit.get());
  fields.text("infiniband.grh.sgid", to_string(grh.source));
  fields.text("infiniband.grh.dgid", to_string(grh.destination));
}

}  // namespace

void append_envelope_fields(FieldList& fields, const CapturedFrame& captured) {
  append_record(fields, captured);
  const roce::Envelope& envelope = captured.envelope;
  if (envelope.ethernet) {
    fields.text("eth.dst", to_string(envelope.ethernet->destination));
    fields.text("eth.src", to_string(envelope.ethernet->source));
    fields.hex("eth.type", envelope.ethernet->type.get(), 4);
  }
  append_vlans(fields, envelope);
  if (envelope.ipv4) append_ipv4(fields, *envelope.ipv4);
  if (envelope.ipv6) append_ipv6(fields, *envelope.ipv6);
  if (envelope.udp) {
    fields.number("udp.srcport", envelope.udp->source_port.get());
    fields.number("udp.dstport", envelope.udp->destination_port.get());
    fields.number("udp.length", envelope.udp->length.get());
  }
  if (envelope.grh) append_grh(fields, *envelope.grh);
}

}  // namespace lw::dissect
