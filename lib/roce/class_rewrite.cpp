// SPDX-License-Identifier: BSD-3-Clause
#include "roce/class_rewrite.h"

#include "roce/frame.h"
#include "roce/traffic_class.h"

namespace lw::roce {
namespace {

constexpr std::uint8_t kDscpBits = 0xfc;

/// Sets IPv4's TTL and its checksum, or IPv6's hop limit.
void set_hop_limit(wire::MutableBytes frame, const Envelope& envelope, std::uint8_t hops) noexcept {
  if (envelope.ipv4 != nullptr) {
    auto* header = wire::view_at<wire::Ipv4>(frame, envelope.network_offset);
    const auto word = [&] {
      return static_cast<std::uint16_t>(header->ttl.get() << 8 | header->protocol.get());
    };
    const std::uint16_t before = word();
    header->ttl.set(hops);
    header->checksum.set(wire::ipv4_checksum_update(header->checksum.get(), before, word()));
  } else if (envelope.ipv6 != nullptr || envelope.grh != nullptr) {
    wire::view_at<wire::Ipv6>(frame, envelope.network_offset)->hop_limit.set(hops);
  }
}

void set_flow_label(wire::MutableBytes frame, const Envelope& envelope,
                    std::uint32_t label) noexcept {
  if (envelope.ipv6 == nullptr && envelope.grh == nullptr) return;
  auto* header = wire::view_at<wire::Ipv6>(frame, envelope.network_offset);
  const std::uint32_t rest = header->version_class_label.get() & ~wire::Ipv6::kFlowLabel;
  header->version_class_label.set(rest | label);
}

/// Changes the outer tag, or adds one if there is a VLAN.
void set_tag(const ClassOfTraffic& traffic, const std::optional<std::uint8_t>& priority,
             const Envelope& envelope, std::vector<std::byte>& frame) {
  constexpr std::size_t kTagAt = offsetof(wire::Ethernet, type);
  if (envelope.vlan_count == 0) {
    if (!traffic.vlan) return;
    constexpr std::array kType = {std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{0}};
    frame.insert(frame.begin() + kTagAt, kType.begin(), kType.end());
  }
  auto* tag = wire::view_at<wire::Vlan>(wire::MutableBytes(frame), sizeof(wire::Ethernet));
  wire::VlanFields fields = tag->fields();
  fields.id = traffic.vlan.value_or(fields.id);
  fields.priority = priority.value_or(fields.priority);
  tag->set(fields);
}

}  // namespace

void rewrite_class(const ClassOfTraffic& traffic, std::vector<std::byte>& frame) {
  const Envelope envelope = open_envelope(frame);
  const auto parsed = parse(envelope);
  if (!envelope.is_roce() || !parsed) return;
  const auto kind =
      class_kind(parsed->bth->opcode.get(), parsed->aeth ? parsed->aeth->syndrome.get() : 0);
  const ClassOfTraffic::Marks& marks = traffic.kinds[static_cast<std::size_t>(kind)];
  const wire::MutableBytes bytes(frame);
  if (marks.dscp)
    set_traffic_class(bytes, envelope, kDscpBits, static_cast<std::uint8_t>(*marks.dscp << 2));
  if (marks.ecn) set_traffic_class(bytes, envelope, kEcnBits, *marks.ecn);
  if (traffic.hop_limit) set_hop_limit(bytes, envelope, *traffic.hop_limit);
  if (traffic.flow_label) set_flow_label(bytes, envelope, *traffic.flow_label);
  if (traffic.vlan || marks.priority) set_tag(traffic, marks.priority, envelope, frame);
}

}  // namespace lw::roce
