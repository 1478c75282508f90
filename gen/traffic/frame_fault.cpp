// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/frame_fault.h"

#include "wire/icrc.h"

namespace lw::gen {
namespace {

using config::FaultKind;
using wire::Encapsulation;

constexpr std::size_t kBthLeft = 8;      // bytes of it: the AckReq and PSN are gone
constexpr std::uint16_t kUdpExcess = 4;  // bytes that UDP claims beyond the packet's end
constexpr std::uint16_t kOtherKey =
    0x1;  // the key's lowest bit: another partition, same membership

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

void spoil(FaultKind kind, Encapsulation encapsulation, const roce::FrameLayout& layout,
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
