// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/ipv6.h"

namespace lw::wire {

/// A GRH's "next header" says that a BTH follows. (IBTA vol. 1, 8.3)
inline constexpr std::uint8_t kNextHeaderBth = 0x1b;

/// RoCEv1's network layer. It is laid out as an IPv6 header, bit for bit; only the names differ:
/// tclass, flowlabel, paylen (from the BTH to the ICRC, both included), nxthdr, hoplmt, sgid, dgid.
using Grh = Ipv6;
using GrhFields = Ipv6Fields;

}  // namespace lw::wire
