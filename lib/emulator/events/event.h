// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/time.h"
#include "emulator/decision.h"
#include "emulator/direction.h"
#include "emulator/match/packet_kind.h"

namespace lw {
struct FigureTable;
}

namespace lw::emulator {

/// How an event selects a PSN.
enum class PsnFrom : std::uint8_t {
  any,       // any PSN
  absolute,  // this PSN
  start,     // this number of PSNs after the first of the packet's stream
};

/// An action on one packet, which is found without help from the endpoints: for example the
/// `occurrence`-th transmission of a PSN to a QP, or the n-th CNP.
struct EventConfig {
  std::string name;
  Ways ways = Ways::both;
  // Without qp and qpn, packets to all QPs are counted together.
  std::optional<std::uint32_t> qp;   // destination QP by order of appearance, from 1
  std::optional<std::uint32_t> qpn;  // destination QP by number
  PacketKind on = PacketKind::request;
  PsnFrom psn_from = PsnFrom::any;
  std::uint32_t psn = 0;         // 24 bits
  std::uint64_t occurrence = 1;  // from 1, among the packets that fulfil all conditions above
  EventAction action = EventAction::drop;
  Duration delay{};       // for EventAction::delay
  bool from_now = false;  // count occurrences from the time at which this event took effect

  [[nodiscard]] bool applies(Direction direction) const noexcept { return covers(ways, direction); }
  friend bool operator==(const EventConfig&, const EventConfig&) = default;
};

/// Counters of the packets that events targeted.
struct EventHits {
  std::uint64_t packets = 0;      // counted when events are matched
  std::uint64_t carried_out = 0;  // counted when decisions are made
  std::uint64_t lost_before = 0;  // already dropped by another stage, or by an outage

  [[nodiscard]] bool holds() const noexcept { return packets == carried_out + lost_before; }
  static const FigureTable& figures();
};

/// The results of all events of one name.
struct EventOutcome {
  std::string name;
  std::uint64_t happened = 0, all = 0;

  static const FigureTable& figures();
};

}  // namespace lw::emulator
