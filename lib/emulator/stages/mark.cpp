// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/mark.h"

namespace lw::emulator {
namespace {

constexpr std::uint8_t kCongestionExperienced = 3;
// Draws of one frame's copies stand side by side.
constexpr std::uint64_t kDrawsACopy = 2;

double red_probability(const Red& red, std::uint64_t queued) noexcept {
  if (queued <= red.kmin_bytes) return 0;
  if (queued > red.kmax_bytes) return 1;
  return red.pmax * static_cast<double>(queued - red.kmin_bytes) /
         static_cast<double>(red.kmax_bytes - red.kmin_bytes);
}

bool has_ip(const roce::Envelope& envelope) noexcept { return envelope.ipv4 || envelope.ipv6; }

void mark_ipv4(wire::Ipv4& header) noexcept {
  const auto word = [&] {
    return static_cast<std::uint16_t>(header.version_words.get() << 8 | header.tos.get());
  };
  const std::uint16_t before = word();
  header.tos.set(header.tos.get() | kCongestionExperienced);
  header.checksum.set(wire::ipv4_checksum_update(header.checksum.get(), before, word()));
}

void mark_ipv6(wire::Ipv6& header) noexcept {
  constexpr unsigned kEcnShift = 20;  // of the traffic class's two lowest bits
  header.version_class_label.set(header.version_class_label.get() |
                                 std::uint32_t{kCongestionExperienced} << kEcnShift);
}

}  // namespace

MarkVerdict Marker::judge(const roce::Envelope& envelope, std::uint64_t number, std::uint32_t copy,
                          std::uint64_t queued) const noexcept {
  const std::uint64_t draw = copy * kDrawsACopy;
  const bool by_chance = probability_.hit(chance_.bits(number, draw));
  const bool by_red =
      config_.red &&
      Threshold(red_probability(*config_.red, queued)).hit(chance_.bits(number, draw + 1));
  if (!by_chance && !by_red) return MarkVerdict::none;
  const std::uint8_t ecn = has_ip(envelope) ? envelope.ecn() : 0;
  if (ecn == kCongestionExperienced) return MarkVerdict::already;
  if (ecn != 0 || (config_.force && has_ip(envelope))) return MarkVerdict::mark;
  return by_red && config_.not_ect == NotEct::drop ? MarkVerdict::drop : MarkVerdict::not_ect;
}

void set_congestion_experienced(wire::MutableBytes frame, const roce::Envelope& envelope) noexcept {
  if (frame.size() < envelope.bytes.size()) return;  // not given
  std::byte* header = frame.data() + envelope.network_offset;
  if (envelope.ipv4) {
    mark_ipv4(*reinterpret_cast<wire::Ipv4*>(header));
  } else if (envelope.ipv6) {
    mark_ipv6(*reinterpret_cast<wire::Ipv6*>(header));
  }
}

}  // namespace lw::emulator
