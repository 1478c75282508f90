// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/frame_fault.h"

#include "core/chance.h"
#include "wire/icrc.h"

namespace lw::gen {
namespace {

using config::FaultKind;
using wire::Encapsulation;

constexpr std::size_t kBthLeft = 8;       // bytes of a truncated BTH, without AckReq and PSN
constexpr std::uint16_t kUdpExcess = 4;   // bytes in the UDP length beyond the packet
constexpr std::uint16_t kOtherKey = 0x1;  // lowest P_Key bit: another partition, same membership

/// True if a frame can have the fault; the arguments are those of FaultPlan::next().
bool fits(FaultKind kind, std::uint64_t frame, std::uint32_t packet,
          std::uint32_t packets) noexcept {
  switch (kind) {
    case FaultKind::psn_gap:
    case FaultKind::duplicate_psn:
      return frame > 0;
    case FaultKind::first_after_first:
      return packet > 0;
    case FaultKind::middle_without_first:
      return packet == 0;
    case FaultKind::short_middle:
      return packet > 0 && packet + 1 < packets;
    default:
      return true;
  }
}

void store(const roce::FrameLayout& layout, wire::MutableBytes frame, std::uint32_t icrc) noexcept {
  wire::store_icrc(frame.subspan(layout.icrc, wire::kIcrcSize), icrc);
}

void set_lengths(Encapsulation encapsulation, const roce::FrameLayout& layout,
                 wire::MutableBytes frame) noexcept {
  const auto length = static_cast<std::uint16_t>(frame.size() - layout.network);
  if (encapsulation == Encapsulation::ipv4) {
    const auto header = frame.subspan(layout.network, sizeof(wire::Ipv4));
    auto* ip = wire::view<wire::Ipv4>(header);
    ip->total_length.set(length);
    ip->checksum.set(0);
    ip->checksum.set(wire::ipv4_checksum(header));
  } else {
    wire::view_at<wire::Ipv6>(frame, layout.network)
        ->payload_length.set(static_cast<std::uint16_t>(length - sizeof(wire::Ipv6)));
  }
  if (encapsulation == Encapsulation::grh) return;
  wire::view_at<wire::Udp>(frame, layout.udp)
      ->length.set(static_cast<std::uint16_t>(frame.size() - layout.udp));
}

}  // namespace

struct FaultPlan::Entry {
  const config::Fault* fault;
  Chance chance;
  Threshold threshold;
  std::size_t listed = 0;  // entries of fault->frames that are done
};

FaultPlan::FaultPlan(const std::vector<config::Fault>& faults, std::uint64_t seed,
                     std::string_view flow_name) {
  for (const config::Fault& fault : faults) {
    const Chance chance(seed, hash_name(flow_name) ^ hash_name(name_of(fault.kind)));
    entries_.push_back({&fault, chance, Threshold(fault.rate)});
  }
}

FaultPlan::~FaultPlan() = default;

std::optional<FaultKind> FaultPlan::next(std::uint64_t frame, std::uint32_t packet,
                                         std::uint32_t packets) noexcept {
  for (Entry& entry : entries_) {
    const auto& listed = entry.fault->frames;
    const bool due = entry.listed < listed.size() && listed[entry.listed] <= frame;
    if (!due && !entry.threshold.hit(entry.chance.bits(frame))) continue;
    if (!fits(entry.fault->kind, frame, packet, packets)) continue;
    if (due) ++entry.listed;
    return entry.fault->kind;
  }
  return std::nullopt;
}

void apply_fault(FaultKind kind, Encapsulation encapsulation, const roce::FrameLayout& layout,
                 wire::MutableBytes frame) noexcept {
  auto* bth = wire::view_at<wire::Bth>(frame, layout.bth);
  if (kind == FaultKind::bad_icrc) {
    return store(layout, frame, ~wire::load_icrc(frame.subspan(layout.icrc, wire::kIcrcSize)));
  }
  if (kind == FaultKind::wrong_udp_length) {
    auto* udp = wire::view_at<wire::Udp>(frame, layout.udp);
    udp->length.set(static_cast<std::uint16_t>(udp->length.get() + kUdpExcess));
  }
  wire::BthFields fields = bth->fields();
  if (kind == FaultKind::wrong_pad_count) {
    fields.pad_count = static_cast<std::uint8_t>((fields.pad_count + 1) & 3);
  }
  if (kind == FaultKind::wrong_tver) fields.version = 1;
  if (kind == FaultKind::bad_p_key) fields.p_key ^= kOtherKey;
  bth->set(fields);
  const wire::Bytes covered = frame.subspan(layout.network, layout.icrc - layout.network);
  store(layout, frame, wire::icrc(encapsulation, covered, layout.bth - layout.network));
}

std::vector<std::byte> truncated(Encapsulation encapsulation, const roce::FrameLayout& layout,
                                 wire::Bytes frame) {
  const auto end = frame.begin() + static_cast<std::ptrdiff_t>(layout.bth + kBthLeft);
  std::vector<std::byte> rest(frame.begin(), end);
  set_lengths(encapsulation, layout, rest);
  return rest;
}

}  // namespace lw::gen
