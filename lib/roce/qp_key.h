// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "roce/envelope.h"

namespace lw::roce {

/// Identifies a QP by the packets sent to it: source address, destination address and destination
/// QP.
struct QpKey {
  std::uint64_t addresses[4] = {};  // IPv4: both in the first word
  std::uint32_t dest_qp = 0;        // 24 bits; the IP version above them

  friend bool operator==(const QpKey&, const QpKey&) = default;
};

/// Requires an IPv4 or IPv6 header in `envelope`.
QpKey qp_key(const Envelope& envelope, std::uint32_t dest_qp) noexcept;

/// Returns the key of a packet that is_plain_rocev2().
QpKey qp_key(const wire::Ipv4& ipv4, std::uint32_t dest_qp) noexcept;

/// Returns the key of packets in the opposite direction, to the peer's QP.
QpKey reversed(const QpKey& key, std::uint32_t dest_qp) noexcept;

}  // namespace lw::roce
