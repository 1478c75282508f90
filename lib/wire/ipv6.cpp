// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ipv6.h"

namespace lw::wire {
namespace {

constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kAuthentication = 51,
                       kDestinationOptions = 60;

/// RFC 8200, 4.5.
struct FragmentHeader {
  Be8 next_header, reserved;
  Be16 offset_more;
  Be32 id;
};
static_assert(sizeof(FragmentHeader) == 8 && alignof(FragmentHeader) == 1);

struct ExtensionHeader {
  Be8 next_header, length;
};

bool is_extension(std::uint8_t protocol) noexcept {
  return protocol == kHopByHop || protocol == kRouting || protocol == kFragment ||
         protocol == kAuthentication || protocol == kDestinationOptions;
}

/// Length of an extension header, in bytes. Authentication counts in units of 4 bytes, minus two;
/// the others count in units of 8 bytes, minus one.
std::size_t extension_length(std::uint8_t protocol, std::uint8_t length) noexcept {
  return protocol == kAuthentication ? (std::size_t{length} + 2) * 4
                                     : (std::size_t{length} + 1) * 8;
}

/// Reads the fragment header at the chain's position; false when the chain ends with it.
bool pass_fragment(const FragmentHeader& header, Ipv6Payload& result) noexcept {
  const std::uint16_t word = header.offset_more.get();
  result.fragment = (word & 0xfff9) != 0;
  result.first_fragment = result.fragment && (word >> 3) == 0;
  result.fragment_id = header.id.get();
  result.protocol = header.next_header.get();
  result.offset += sizeof(FragmentHeader);
  return !result.fragment || result.first_fragment;
}

}  // namespace

Ipv6Fields Ipv6::fields() const noexcept {
  return {.traffic_class = traffic_class(),
          .flow_label = flow_label(),
          .payload_length = payload_length.get(),
          .next_header = next_header.get(),
          .hop_limit = hop_limit.get(),
          .source = source,
          .destination = destination};
}

void Ipv6::set(const Ipv6Fields& f) noexcept {
  version_class_label.set(0x60000000u | std::uint32_t{f.traffic_class} << 20 |
                          (f.flow_label & kFlowLabel));
  payload_length.set(f.payload_length);
  next_header.set(f.next_header);
  hop_limit.set(f.hop_limit);
  source = f.source;
  destination = f.destination;
}

Ipv6Payload skip_extension_headers(Bytes packet) noexcept {
  Ipv6Payload result;
  result.protocol = view<Ipv6>(packet)->next_header.get();
  result.offset = sizeof(Ipv6);
  while (is_extension(result.protocol)) {
    if (result.protocol == kFragment) {
      const auto* header = view_at<FragmentHeader>(packet, result.offset);
      if (!header) return result;
      if (!pass_fragment(*header, result)) break;
      continue;
    }
    const auto* header = view_at<ExtensionHeader>(packet, result.offset);
    if (!header) return result;
    result.offset += extension_length(result.protocol, header->length.get());
    result.protocol = header->next_header.get();
  }
  result.complete = result.offset <= packet.size();
  return result;
}

}  // namespace lw::wire
