// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/handoff.h"
#include "emulator/direction.h"
#include "emulator/events/qp_table.h"
#include "wire/psn.h"

namespace lw::emulator {

/// A ConnectRequest or ConnectReply that passed.
struct CmSighting {
  bool reply = false;
  QpKey key;                  // addresses of the datagram
  std::uint32_t comm_id = 0;  // the requester's
  std::uint32_t qpn = 0;      // of who sends it
  std::uint32_t psn = 0;      // that the other end shall begin with
};

/// Two QPs that belong together, and the PSN that the requests to each of them begin with.
struct CmConnection {
  QpKey to_replier, to_requester;
  std::uint32_t replier_psn = 0, requester_psn = 0;
};

/// Reads a connection manager's datagram (PacketKind::cm); nothing where it is another message, or
/// is cut.
std::optional<CmSighting> cm_sighting(const roce::Envelope& envelope,
                                      const wire::Bth& bth) noexcept;

/// Joins requests and their replies. It remembers the last 256 requests that are unanswered.
/// (IBTA vol. 1, 12.9)
class CmLearner {
 public:
  [[nodiscard]] std::optional<CmConnection> hear(const CmSighting& sighting) noexcept;

 private:
  std::array<std::optional<CmSighting>, 256> requests_;
  std::size_t next_ = 0;
};

/// Connection set-up that was heard in one direction, on its way to the other: a request passes
/// one way and its reply the other. What is lost where the reader is behind is a PSN that is then
/// learnt from the packets.
using CmChannel = SpscQueue<CmSighting>;

/// What the two directions of a box tell each other.
class CmExchange {
 public:
  [[nodiscard]] CmChannel& from(Direction direction) noexcept {
    return direction == Direction::west_to_east ? from_west_ : from_east_;
  }
  [[nodiscard]] CmChannel& to(Direction direction) noexcept {
    return direction == Direction::west_to_east ? from_east_ : from_west_;
  }

 private:
  CmChannel from_west_, from_east_;
};

}  // namespace lw::emulator
