// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "gen/perf/session/private_data.h"

namespace lw::gen::otg {

/// What one end of a connection tells the other one, in the private data of its connection request
/// or reply.
struct QpOffer {
  std::uint32_t order = 0;   // of the connection among those between the two addresses
  std::uint32_t ib_mtu = 0;  // bytes of payload
  std::uint64_t va = 0;      // the sender's region
  std::uint32_t r_key = 0;
  std::uint32_t first_psn = 0;  // of the sender's first packet, 24 bits
  std::uint64_t read_bps = 0;   // rate at which the sender's READs are to be answered; 0: any
  friend bool operator==(const QpOffer&, const QpOffer&) = default;
};

PrivateData to_private_data(const QpOffer& offer) noexcept;
/// Returns nothing for other data, and for values beyond their limits.
std::optional<QpOffer> read_offer(wire::Bytes data);

}  // namespace lw::gen::otg
