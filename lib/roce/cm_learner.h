// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "roce/qp_key.h"
#include "wire/bth.h"

namespace lw::roce {

/// The fields of a ConnectRequest or ConnectReply that passed.
struct CmSighting {
  bool reply = false;
  QpKey key;                  // addresses of the datagram
  std::uint32_t comm_id = 0;  // the requester's
  std::uint32_t qpn = 0;      // QP of the sender
  std::uint32_t psn = 0;      // first PSN that the other end shall send
};

/// The two QPs of a connection, and the first request PSN to each of them.
struct CmConnection {
  QpKey to_replier, to_requester;
  std::uint32_t replier_psn = 0, requester_psn = 0;
};

/// Reads a connection management datagram (PacketKind::cm). Returns nothing for other messages and
/// for truncated ones.
std::optional<CmSighting> cm_sighting(const Envelope& envelope, const wire::Bth& bth) noexcept;

/// Matches requests with their replies. Remembers the last 256 unanswered requests. (IBTA vol. 1,
/// 12.9)
class CmLearner {
 public:
  [[nodiscard]] std::optional<CmConnection> hear(const CmSighting& sighting) noexcept;

 private:
  std::array<std::optional<CmSighting>, 256> requests_;
  std::size_t next_ = 0;
};

}  // namespace lw::roce
