// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "roce/envelope.h"

namespace lw::roce {

inline constexpr std::uint8_t kCongestionExperienced = 3;
inline constexpr std::uint8_t kEcnBits = 3;

/// The ECN field of a frame's IP header (RFC 3168); nothing without such a header.
inline std::optional<std::uint8_t> ecn_of(const Envelope& envelope) noexcept {
  return envelope.ipv4 || envelope.ipv6 ? std::optional(envelope.ecn()) : std::nullopt;
}

/// Sets those bits of a frame's DSCP and ECN (IPv4's TOS, IPv6's traffic class) that `mask` has to
/// those of `value`, and updates IPv4's checksum (RFC 1624). `frame` holds the envelope's bytes. A
/// shorter frame, and a frame without an IP header, stay as they are. The ICRC doesn't cover the
/// field.
void set_traffic_class(wire::MutableBytes frame, const Envelope& envelope, std::uint8_t mask,
                       std::uint8_t value) noexcept;

inline void set_congestion_experienced(wire::MutableBytes frame,
                                       const Envelope& envelope) noexcept {
  set_traffic_class(frame, envelope, kEcnBits, kCongestionExperienced);
}

}  // namespace lw::roce
