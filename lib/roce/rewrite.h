// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "roce/envelope.h"

namespace lw::roce {

/// Changes to the frames of a capture. Empty members change nothing.
struct Rewrite {
  std::optional<wire::MacAddress> source_mac, destination_mac;
  /// Change frames of the same address family; a RoCEv1 GRH takes both, IPv4 as ::ffff:a.b.c.d.
  std::optional<wire::IpAddress> source, destination;
  std::map<std::uint32_t, std::uint32_t> qps;  // BTH's destination and DETH's source QP, 24 bits
  /// Added to every PSN, modulo 2^24, except that of a CNP, which is always 0.
  std::uint32_t psn_offset = 0;
  /// Replaces psn_offset where the captured destination QP is a key.
  std::map<std::uint32_t, std::uint32_t> psn_offset_of_qp;
  std::map<std::uint32_t, std::uint32_t> r_keys;  // of RETH, AtomicETH and IETH

  [[nodiscard]] bool empty() const noexcept;
};

enum class Rewritten : std::uint8_t {
  not_roce,  // unchanged
  yes,       // all fields of the Rewrite that the frame has; possibly none
  /// RoCE, unchanged because the ICRC's position is unknown: a fragment of an IP packet, cut by the
  /// capture, contradicting lengths.
  no_icrc,
};

/// Changes an Ethernet frame in place, without its length and order of headers. ICRC, IPv4 checksum
/// and UDP checksum (if not 0) are patched, not computed: a wrong one stays wrong by the same
/// difference, so deliberate damage survives. The payload doesn't change, nor do QPs and PSNs in a
/// connection manager's MAD. Cost: a few table look-ups a changed byte.
Rewritten rewrite(const Rewrite& what, wire::MutableBytes frame) noexcept;

}  // namespace lw::roce
