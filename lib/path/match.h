// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "roce/envelope.h"
#include "wire/bth.h"

namespace lw::path {

/// The BTH of a RoCEv2 packet that is whole enough to be impaired as one: UDP to port 4791 over
/// IPv4 or IPv6, tagged or not, not a fragment, with all of its BTH. Null for anything else.
inline const wire::Bth* bth_of(const roce::Envelope& envelope) noexcept {
  if (!envelope.udp || envelope.fragment || !envelope.is_roce()) return nullptr;
  const std::size_t offset = envelope.bth_offset();
  if (offset + sizeof(wire::Bth) > envelope.network_end) return nullptr;
  return wire::view_at<wire::Bth>(envelope.bytes, offset);
}

/// What a rule applies to.
enum class Match : std::uint8_t {
  rocev2,      // bth_of() finds one: the default
  everything,  // each and every frame, ARP and LLDP too
};

constexpr bool matches(Match match, const wire::Bth* bth) noexcept {
  return match == Match::everything || bth != nullptr;
}

}  // namespace lw::path
