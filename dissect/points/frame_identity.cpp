// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/points/frame_identity.h"

#include <algorithm>
#include <cstring>

#include "capture/record.h"

namespace lw::dissect {
namespace {

constexpr std::size_t kPayload = 64;  // bytes of it that count

/// A hash by multiply and fold over 64-bit words.
class WordHash {
 public:
  void add(std::uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
  }
  void add(wire::Bytes bytes) noexcept {
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t size = std::min(bytes.size(), sizeof word);
      std::memcpy(&word, bytes.data(), size);
      add(word);
      bytes = bytes.subspan(size);
    }
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0x6c6f6e6777697265;
};

}  // namespace

std::optional<ViewIdentity> view_identity_of(const roce::Frame& frame) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  const bool cut = frame.defect && frame.defect->problem == roce::Problem::cut;
  if (!frame.bth || envelope.fragment || (frame.defect && !cut)) return std::nullopt;
  const roce::FlowKey key = roce::flow_key(frame);
  const wire::Bth& bth = *frame.bth;
  WordHash hash;
  hash.add(std::as_bytes(std::span(key.source)));
  hash.add(std::as_bytes(std::span(key.destination)));
  const std::uint64_t id = envelope.ipv4 ? envelope.ipv4->id.get() : 0;
  hash.add(id << 16 | (envelope.udp ? envelope.udp->source_port.get() : 0));
  hash.add(std::uint64_t{bth.opcode.get()} << 32 | std::uint64_t{bth.flags.get()} << 16 |
           bth.p_key.get());
  hash.add(std::uint64_t{bth.dest_qp.get()} << 32 | std::uint64_t{bth.acknowledge.get()} << 24 |
           bth.psn().value());
  hash.add(frame.payload_length);
  const std::size_t begin = envelope.bth_offset() + sizeof(wire::Bth);
  const std::size_t end = std::min(envelope.network_end - wire::kIcrcSize, envelope.bytes.size());
  if (begin < end) hash.add(envelope.bytes.subspan(begin, std::min(kPayload, end - begin)));
  return hash.value();
}

ViewForm view_form_of(const roce::Envelope& envelope, int link_type) noexcept {
  constexpr std::size_t kSll2Interface = 4;  // offset (LINKTYPE_LINUX_SLL2)
  ViewForm form{.vlans = static_cast<std::uint8_t>(envelope.vlan_count),
                .hop_limit = envelope.hop_limit(),
                .traffic_class = static_cast<std::uint8_t>(envelope.dscp() << 2 | envelope.ecn())};
  if (envelope.ethernet) std::memcpy(form.macs.data(), envelope.ethernet, form.macs.size());
  if (envelope.vlan_count > 0) form.vlan = envelope.vlans[0]->control.get();
  if (link_type == capture::kLinkTypeLinuxSll2 && envelope.bytes.size() >= kSll2Interface + 4)
    for (std::size_t i = 0; i < 4; ++i)
      form.interface =
          form.interface << 8 | std::to_integer<std::uint32_t>(envelope.bytes[kSll2Interface + i]);
  return form;
}

std::string_view difference_of(const ViewForm& a, const ViewForm& b) noexcept {
  if (a.vlans != b.vlans || a.vlan != b.vlan) return "VLAN tags";
  if (a.hop_limit != b.hop_limit) return "TTL";
  if (a.macs != b.macs) return "MAC addresses";
  if (a.interface != b.interface) return "interface index";
  return a.traffic_class != b.traffic_class ? "traffic class" : "";
}

}  // namespace lw::dissect
