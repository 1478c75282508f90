// SPDX-License-Identifier: BSD-3-Clause
#include "gen/telemetry/record_packer.h"

#include <algorithm>

namespace lw::gen {

using config::RecordSource;

bool RecordPacker::takes(const roce::Envelope& packet) const noexcept {
  const bool other_version =
      layout_.ip_version &&
      (*layout_.ip_version == 4 ? packet.ipv4 == nullptr : packet.ipv6 == nullptr);
  // Only the first fragment of a packet has the transport header.
  const bool later_piece = packet.fragment && !packet.first_fragment;
  const bool other_protocol = layout_.protocol && (packet.network_end == 0 || later_piece ||
                                                   packet.protocol != *layout_.protocol);
  return !other_version && !other_protocol;
}

bool RecordPacker::fill(const config::RecordField& field, const roce::Envelope& packet,
                        std::span<std::byte> out) const noexcept {
  if (field.source == RecordSource::counter) {
    std::uint64_t number = counters_.packed;
    for (std::size_t i = out.size(); i-- > 0; number >>= 8) out[i] = static_cast<std::byte>(number);
    return true;
  }
  const bool link = field.source == RecordSource::ethernet;
  if (!link && packet.network_end == 0) return false;
  const std::size_t start = link                               ? 0
                            : field.source == RecordSource::ip ? packet.network_offset
                                                               : packet.transport_offset;
  const std::size_t end =
      link ? packet.bytes.size() : std::min(packet.network_end, packet.bytes.size());
  if (start + field.offset + out.size() > end) return false;
  std::ranges::copy(packet.bytes.subspan(start + field.offset, out.size()), out.begin());
  return true;
}

bool RecordPacker::pack(const roce::Envelope& packet, std::span<std::byte> record) noexcept {
  if (!takes(packet)) {
    ++counters_.passed_over;
    return false;
  }
  for (const config::RecordField& field : layout_.fields) {
    if (!fill(field, packet, record.first(field.bytes))) {
      ++counters_.cut;
      return false;
    }
    record = record.subspan(field.bytes);
  }
  ++counters_.packed;
  return true;
}

}  // namespace lw::gen
