// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/packet.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "roce/plain_rocev2.h"
#include "wire/mad.h"

namespace lw::analysis {
namespace {

using ExtensionViews = wire::ExtensionSlots<wire::HeaderView>;

void take_extensions(const ExtensionViews& frame, CapturedPacket& packet) noexcept {
  if (frame.reth != nullptr) {
    packet.has_reth = true;
    packet.va = frame.reth->va.get();
    packet.r_key = frame.reth->r_key.get();
    packet.dma_length = frame.reth->dma_length.get();
  }
  if (frame.atomiceth != nullptr) {
    packet.va = frame.atomiceth->va.get();
    packet.r_key = frame.atomiceth->r_key.get();
  }
  if (frame.aeth != nullptr) {
    packet.has_aeth = true;
    packet.syndrome = frame.aeth->syndrome.get();
    packet.msn = frame.aeth->msn.get();
  }
  if (frame.immdt != nullptr) {
    packet.has_immediate = true;
    packet.immediate = frame.immdt->immediate.get();
  }
  if (frame.deth != nullptr) packet.source_qp = frame.deth->src_qp.get();
}

/// Finds the extension headers of a packet, from `offset` on. Returns the offset after them; 0:
/// they don't end before `limit`.
std::size_t find_extensions(wire::Bytes frame, wire::ExtensionSet set, std::size_t offset,
                            std::size_t limit, ExtensionViews& found) noexcept {
  if (set == wire::ExtensionSet{}) return offset;
  wire::for_each_extension(
      [&]<class Header>(wire::Extension extension, const Header*& header) {
        if (!set.has(extension) || offset + sizeof(Header) > limit) return;
        header = wire::view_at<Header>(frame, offset);
        set = set.without(extension);
        offset += sizeof(Header);
      },
      found);
  return set == wire::ExtensionSet{} ? offset : 0;
}

void take_bth(const wire::Bth& bth, CapturedPacket& packet) noexcept {
  packet.psn = bth.psn().value();
  packet.p_key = bth.p_key.get();
  packet.pad = bth.pad_count();
  packet.ack_req = bth.ack_req();
  packet.becn = bth.becn();
}

QpFlowKey qp_flow_key(const SeenFrame& seen) noexcept {
  const roce::FlowKey flow = roce::flow_key(seen.frame);
  QpFlowKey key{.source = flow.source,
                .destination = flow.destination,
                .qp = flow.dest_qp,
                .point = seen.point};
  if (seen.frame.rdeth != nullptr) {
    key.qp = seen.frame.rdeth->ee_context.get();
  } else if (seen.frame.deth != nullptr) {
    key.source_qp = seen.frame.deth->src_qp.get();
  }
  return key;
}

/// Payload of the packet that begins with this IP fragment, in bytes: its UDP length counts all
/// fragments.
std::uint32_t payload_of_fragments(const roce::Frame& frame) noexcept {
  std::size_t others = sizeof(wire::Udp) + sizeof(wire::Bth) + wire::kIcrcSize;
  others += frame.bth->pad_count();
  if (frame.info != nullptr) others += frame.info->extensions.size();
  const std::size_t all = frame.envelope.udp->length.get();
  return all > others ? static_cast<std::uint32_t>(all - others) : 0;
}

CapturedPacket packet_of(const SeenFrame& seen) noexcept {
  const roce::Frame& frame = seen.frame;
  const roce::Envelope& envelope = frame.envelope;
  CapturedPacket packet{.number = seen.number, .stamp = seen.stamp, .info = frame.info};
  take_bth(*frame.bth, packet);
  packet.payload = static_cast<std::uint32_t>(frame.payload_length);
  packet.wire_length = static_cast<std::uint32_t>(envelope.wire_length);
  packet.ip_id = envelope.ipv4 != nullptr ? envelope.ipv4->id.get() : std::uint16_t{0};
  packet.source_port = envelope.udp != nullptr ? envelope.udp->source_port.get() : std::uint16_t{0};
  packet.ecn = envelope.ecn();
  packet.dscp = envelope.dscp();
  packet.trimmed = envelope.is_trimmed();
  packet.bad_icrc = seen.icrc == roce::IcrcVerdict::bad;
  packet.good_icrc = seen.icrc == roce::IcrcVerdict::ok;
  packet.complete = !frame.defect || frame.defect->problem == roce::Problem::cut;
  const bool first_fragment = frame.defect && frame.defect->problem == roce::Problem::fragment;
  if (first_fragment && envelope.udp != nullptr) {
    packet.payload = payload_of_fragments(frame);
    packet.complete = true;
  }
  take_extensions(frame, packet);
  return packet;
}

bool is_cm(const roce::Frame& frame) noexcept {
  constexpr std::uint8_t kCommunicationManagement = 7;
  return frame.mad != nullptr && frame.mad->management_class.get() == kCommunicationManagement &&
         (frame.envelope.ipv4 != nullptr || frame.envelope.ipv6 != nullptr);
}

}  // namespace

std::size_t QpFlowKeyHash::operator()(const QpFlowKey& key) const noexcept {
  std::uint64_t words[4];
  std::memcpy(words, key.source.data(), 16);
  std::memcpy(words + 2, key.destination.data(), 16);
  // Both addresses at once: the multiplications of one do not wait for those of the other.
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15, kOther = 0xc2b2ae3d27d4eb4f;
  const std::uint64_t source = (words[0] * kOdd ^ words[1]) * kOther;
  const std::uint64_t destination = (words[2] * kOther ^ words[3]) * kOdd;
  std::uint64_t hash = std::uint64_t{key.qp} << 32 | key.source_qp;
  hash ^= std::uint64_t{key.point} << 24;
  hash = (hash ^ source ^ std::rotl(destination, 23)) * kOdd;
  return hash ^ hash >> 29;
}

bool PacketReader::read_plain(const SeenEnvelope& seen, KeyedPacket& taken) noexcept {
  const roce::Envelope& envelope = seen.envelope;
  if (!envelope.plain || seen.icrc != roce::IcrcVerdict::ok) return false;
  const wire::Bytes frame = envelope.bytes;
  const wire::Bth& bth = roce::plain_bth(frame);
  const wire::OpcodeInfo* const info = wire::find_opcode(bth.opcode.get());
  if (info == nullptr || info->transport == wire::Transport::ud ||
      info->transport == wire::Transport::rd)
    return false;
  const std::size_t limit = envelope.network_end - wire::kIcrcSize;
  ExtensionViews extensions;
  const std::size_t behind =
      find_extensions(frame, info->extensions, roce::kPlainEnd, limit, extensions);
  if (behind == 0 || behind + bth.pad_count() > limit) return false;

  CapturedPacket& packet = taken.packet;
  packet.number = seen.number;
  packet.stamp = seen.stamp;
  packet.info = info;
  take_bth(bth, packet);
  packet.payload = static_cast<std::uint32_t>(limit - behind - bth.pad_count());
  packet.wire_length = static_cast<std::uint32_t>(envelope.wire_length);
  const wire::Ipv4& ip = roce::plain_ipv4(frame);
  packet.ip_id = ip.id.get();
  packet.source_port = roce::plain_udp(frame).source_port.get();
  packet.ecn = ip.ecn();
  packet.dscp = ip.dscp();
  packet.good_icrc = true;
  take_extensions(extensions, packet);
  taken.key.source = roce::mapped(ip.source);
  taken.key.destination = roce::mapped(ip.destination);
  taken.key.qp = bth.dest_qp.get();
  taken.key.point = seen.point;
  taken.hash = QpFlowKeyHash{}(taken.key);
  return true;
}

/// Whether another packet of the source, with another PSN, has the same bad ICRC.
bool PacketReader::is_constant(const HostAddress& source, std::uint32_t icrc, std::uint32_t psn) {
  const std::uint64_t hash = QpFlowKeyHash{}(QpFlowKey{.source = source});
  const auto known = sources_.find(hash);
  if (known == sources_.end()) {
    if (sources_.size() < kMostSources) sources_[hash] = {icrc, psn};
    return false;
  }
  Source& first = known->second;
  if (icrc == first.icrc && psn != first.psn) first.constant = true;
  return first.constant && icrc == first.icrc;
}

void PacketReader::note_address(const HostAddress& address) {
  if (addresses_.size() < kMostAddresses &&
      std::ranges::find(addresses_, address) == addresses_.end())
    addresses_.push_back(address);
}

void PacketReader::read_bad_icrc(const SeenFrame& seen, CapturedPacket& packet,
                                 KeyedPacket::Rare& rare) {
  const roce::FlowKey flow = roce::flow_key(seen.frame);
  note_address(flow.source);
  note_address(flow.destination);
  if (!seen.frame.icrc.empty()) {
    const std::uint32_t icrc = wire::load_icrc(seen.frame.icrc);
    packet.icrc_unwritten = icrc == 0 || icrc == ~0U || is_constant(flow.source, icrc, packet.psn);
  }
  if (explained_ == kMostExplained) return;
  ++explained_;
  rare.bad_icrc = explain_bad_icrc(seen.frame.envelope, addresses_);
  if (packet.icrc_unwritten && rare.bad_icrc->kind != IcrcError::Kind::unwritten)
    rare.bad_icrc = {IcrcError::Kind::unwritten, "it is a constant: no ICRC was written"};
}

KeyedPacket PacketReader::read(const SeenFrame& seen) {
  KeyedPacket taken{.packet = packet_of(seen),
                    .key = qp_flow_key(seen),
                    .encapsulation = seen.frame.envelope.encapsulation(),
                    .rare = nullptr};
  taken.hash = QpFlowKeyHash{}(taken.key);
  KeyedPacket::Rare rare;
  if (is_cm(seen.frame)) {
    if (!taken.packet.bad_icrc)
      rare.connection = roce::cm_sighting(seen.frame.envelope, *seen.frame.bth);
    rare.setup = cm_note(seen.frame);
  }
  if (taken.packet.bad_icrc) read_bad_icrc(seen, taken.packet, rare);
  if (rare.setup || rare.bad_icrc)
    taken.rare = std::make_unique<KeyedPacket::Rare>(std::move(rare));
  return taken;
}

}  // namespace lw::analysis
