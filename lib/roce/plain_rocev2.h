// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "wire/bth.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/udp.h"

namespace lw::roce {

/// True for RoCEv2 as nearly all of it looks: an untagged Ethernet frame, IPv4 without options, not
/// a fragment, UDP to port 4791, long enough for its BTH. What opening the envelope would find, for
/// a few compares; false says nothing.
inline bool is_plain_rocev2(wire::Bytes frame) noexcept {
  constexpr std::size_t kIp = sizeof(wire::Ethernet), kUdp = kIp + sizeof(wire::Ipv4),
                        kEnd = kUdp + sizeof(wire::Udp) + sizeof(wire::Bth);
  if (frame.size() < kEnd) return false;
  const std::byte* at = frame.data();
  const auto word = [&](std::size_t offset) {
    std::uint16_t value;
    std::memcpy(&value, at + offset, sizeof value);
    return std::endian::native == std::endian::big ? value : __builtin_bswap16(value);
  };
  return word(12) == wire::kEtherTypeIpv4 && at[kIp] == std::byte{0x45} &&
         (word(kIp + 6) & 0x3fff) == 0 && at[kIp + 9] == std::byte{wire::kProtocolUdp} &&
         word(kUdp + 2) == wire::kRoceV2Port && word(kIp + 2) >= kEnd - kIp;
}

}  // namespace lw::roce
