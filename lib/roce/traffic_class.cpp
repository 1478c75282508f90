// SPDX-License-Identifier: BSD-3-Clause
#include "roce/traffic_class.h"

namespace lw::roce {
namespace {

constexpr std::uint8_t with(std::uint8_t before, std::uint8_t mask, std::uint8_t value) noexcept {
  return static_cast<std::uint8_t>((before & ~mask) | (value & mask));
}

void set_tos(wire::Ipv4& header, std::uint8_t mask, std::uint8_t value) noexcept {
  const auto word = [&] {
    return static_cast<std::uint16_t>(header.version_words.get() << 8 | header.tos.get());
  };
  const std::uint16_t before = word();
  header.tos.set(with(header.tos.get(), mask, value));
  header.checksum.set(wire::ipv4_checksum_update(header.checksum.get(), before, word()));
}

void set_class(wire::Ipv6& header, std::uint8_t mask, std::uint8_t value) noexcept {
  constexpr unsigned kShift = 20;  // the traffic class has the bits 20 to 27
  const std::uint32_t rest = header.version_class_label.get() & ~(std::uint32_t{0xff} << kShift);
  header.version_class_label.set(rest | std::uint32_t{with(header.traffic_class(), mask, value)}
                                            << kShift);
}

}  // namespace

void set_traffic_class(wire::MutableBytes frame, const Envelope& envelope, std::uint8_t mask,
                       std::uint8_t value) noexcept {
  if (frame.size() < envelope.bytes.size()) return;  // the bytes are not writable
  std::byte* header = frame.data() + envelope.network_offset;
  if (envelope.ipv4) {
    set_tos(*reinterpret_cast<wire::Ipv4*>(header), mask, value);
  } else if (envelope.ipv6) {
    set_class(*reinterpret_cast<wire::Ipv6*>(header), mask, value);
  }
}

}  // namespace lw::roce
