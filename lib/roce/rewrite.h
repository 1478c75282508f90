// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "roce/envelope.h"

namespace lw::roce {

/// What to change in frames that somebody else made. What isn't named stays as it is.
struct Rewrite {
  std::optional<wire::MacAddress> source_mac, destination_mac;
  /// In frames of the same family; in a RoCEv1 GRH both, IPv4 as ::ffff:a.b.c.d.
  std::optional<wire::IpAddress> source, destination;
  std::map<std::uint32_t, std::uint32_t> qps;  // BTH's destination and DETH's source QP, 24 bits
  /// Added to every PSN, modulo 2^24, but a CNP's, which is always 0.
  std::uint32_t psn_offset = 0;
  /// In place of it where the destination QP, as it was captured, is a key.
  std::map<std::uint32_t, std::uint32_t> psn_offset_of_qp;
  std::map<std::uint32_t, std::uint32_t> r_keys;  // of RETH, AtomicETH and IETH

  [[nodiscard]] bool empty() const noexcept;
};

enum class Rewritten : std::uint8_t {
  not_roce,  // left as it is
  yes,       // every field that was asked for and is there; possibly none
  /// RoCE, but there is no telling where its ICRC stands (a fragment of an IP packet, cut by the
  /// capture, lengths that contradict each other): left as it is.
  no_icrc,
};

/// Changes an Ethernet frame in place, its length and order of headers kept. ICRC, IPv4 checksum
/// and, where there is one, UDP checksum are patched, not computed: one that was wrong stays wrong
/// by the same difference, so deliberate damage survives. Payload is not read; what a connection
/// manager's MAD says of QPs and PSNs stays. Cost: a few table look-ups a changed byte.
Rewritten rewrite(const Rewrite& what, wire::MutableBytes frame) noexcept;

}  // namespace lw::roce
