// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/time.h"
#include "emulator/decision.h"
#include "emulator/direction.h"
#include "emulator/match/packet_kind.h"

namespace lw::emulator {

/// Which of a QP's packets an event means.
enum class PsnFrom : std::uint8_t {
  any,       // whatever the PSN
  absolute,  // this very PSN
  start,     // so many after the first of its stream
};

/// One thing that is done to one packet, which is found without any help from the endpoints: the
/// `occurrence`-th transmission of this PSN to this QP, say, or the n-th CNP.
struct EventConfig {
  std::string name;
  Ways ways = Ways::both;
  // Neither of the two: the packets to all QPs are counted together.
  std::optional<std::uint32_t> qp;   // destination QP by order of appearance, from 1
  std::optional<std::uint32_t> qpn;  // or by its number
  PacketKind on = PacketKind::request;
  PsnFrom psn_from = PsnFrom::any;
  std::uint32_t psn = 0;         // 24 bits
  std::uint64_t occurrence = 1;  // from 1, among the packets that all above holds for
  EventAction action = EventAction::drop;
  Duration delay{};       // for EventAction::delay
  bool from_now = false;  // occurrences count from when this event came into force

  [[nodiscard]] bool applies(Direction direction) const noexcept { return covers(ways, direction); }
  friend bool operator==(const EventConfig&, const EventConfig&) = default;
};

/// The packets that events fell on, and what became of them.
struct EventHits {
  std::uint64_t packets = 0;      // counted where events are found
  std::uint64_t carried_out = 0;  // and these two where decisions are made
  std::uint64_t lost_before = 0;  // another stage, or an outage, had dropped it

  [[nodiscard]] bool holds() const noexcept { return packets == carried_out + lost_before; }
};

/// How the events of one name fared.
struct EventOutcome {
  std::string name;
  std::uint64_t happened = 0, all = 0;
};

}  // namespace lw::emulator
