// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "emulator/pipeline.h"
#include "emulator/queue/held.h"
#include "sim/packet_headers.h"

namespace lw::sim {

/// What lies between two hosts, as an impair profile says it.
struct PathRules {
  std::uint64_t seed = 1;
  std::vector<emulator::RuleConfig> rules;
  std::vector<emulator::EventConfig> events;

  /// What every RoCE packet takes at least in this direction.
  [[nodiscard]] Duration least_delay(emulator::Direction direction) const noexcept;
  /// Something in it is by chance.
  [[nodiscard]] bool by_chance() const noexcept;
  /// Nothing but a constant delay, the same for every RoCE packet of a direction.
  [[nodiscard]] bool plain() const noexcept;
};

/// What the rules did to packets of one line.
struct RuleCounters {
  std::uint64_t lost = 0, tail_dropped = 0, corrupted = 0, marked = 0, duplicated = 0, delayed = 0;
};

/// One direction's rules in virtual time: lib/path's own pipeline decides, packet by packet; when
/// a packet comes out is the only thing that is left to the line.
class RuledPath {
 public:
  /// `seed` is the one that chance goes by, in place of the rules' own.
  RuledPath(const PathRules& rules, emulator::Direction direction, std::uint64_t seed);

  /// A packet, or a copy of it, that comes out at `at`.
  struct Out {
    transport::Packet packet;
    Instant at;
  };
  /// Decides on packet `number`, which enters at `now` (never falling): out() has what came of it,
  /// those that it has overtaken included. Copies share the payload's slot, uncounted.
  void enter(const transport::Packet& packet, std::uint64_t number, Instant now);
  std::vector<Out>& out() noexcept { return out_; }

  /// Packets that are held back until others have overtaken them, but not longer than this.
  [[nodiscard]] Instant next_deadline() const noexcept;
  /// The first of them; only when there is one.
  transport::Packet take_held();
  [[nodiscard]] std::size_t held() const noexcept { return held_packets_; }

  [[nodiscard]] const RuleCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const emulator::Pipeline& pipeline() const noexcept { return pipeline_; }

 private:
  struct Entry {
    Instant due;
    transport::Packet packet;
  };

  void settle(transport::Packet packet, const emulator::Decision& decision, Instant now);
  void count_drop(emulator::Stage stage) noexcept;
  void overtake(const transport::Packet& packet, const emulator::Decision& decision, Instant at);
  [[nodiscard]] std::size_t first_held() const noexcept;

  emulator::Pipeline pipeline_;
  PacketHeaders headers_;
  std::vector<emulator::Held<Entry>> held_;  // a rule each
  std::size_t held_packets_ = 0;
  std::vector<Out> out_;
  RuleCounters counters_;
};

}  // namespace lw::sim
