// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/pipeline.h"
#include "emulator/queue/release_queue.h"
#include "perf/path.h"
#include "roce/envelope.h"
#include "transport/packet.h"
#include "wire/aeth.h"
#include "wire/atomiceth.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/reth.h"
#include "wire/udp.h"

namespace lw::sim {

/// Packets of one link that the rules changed or dropped.
struct RuleCounters {
  std::uint64_t lost = 0, tail_dropped = 0, corrupted = 0, marked = 0, duplicated = 0, delayed = 0;
};

/// The headers that a simulated packet would have on the wire, for rules that look at frames. They
/// are composed once for packets of one kind; addresses and the fields that differ from QP to QP
/// and from packet to packet are written for each. The ICRC is not: no rule looks at it. (Composed
/// for each pair of hosts, the headers of an incast of 1,000 hosts didn't fit, and a quarter of its
/// time was composing.)
class PacketHeaders {
 public:
  /// Valid until the next call.
  const roce::Envelope& of(const transport::Packet& packet);

 private:
  static constexpr std::size_t kSets = 256, kWays = 4;
  static constexpr std::size_t kHeaderBytes = 128;  // fits all headers of any packet

  struct Headers {
    transport::Packet like;  // a packet with these headers: of this kind, and between these hosts
    std::vector<std::byte> bytes;
    roce::Envelope envelope;
    // Where fields are written; null: these packets have no such header.
    wire::Ethernet* ethernet = nullptr;
    wire::Ipv4* ipv4 = nullptr;
    wire::Udp* udp = nullptr;
    wire::Bth* bth = nullptr;
    wire::Deth* deth = nullptr;
    wire::Reth* reth = nullptr;
    wire::AtomicEth* atomiceth = nullptr;
    wire::Aeth* aeth = nullptr;
  };
  static void compose(Headers& headers, const transport::Packet& packet);
  static void set_addresses(Headers& headers, const transport::Packet& packet);
  Headers& place_of(const transport::Packet& packet);

  std::vector<Headers> places_ = std::vector<Headers>(kSets * kWays);
};

/// One direction of a path in virtual time: the emulator's pipeline decides on each packet, and the
/// link delivers it.
class PathEmulation {
 public:
  /// `seed` replaces the rules' own.
  PathEmulation(const perf::PathRules& rules, emulator::Direction direction, std::uint64_t seed);

  /// A packet, or a copy of one, that leaves at `at`.
  struct Out {
    transport::Packet packet;
    Instant at;
  };
  /// Decides on packet `number`, which enters at `now` (never decreasing). out() then has the
  /// packets that leave because of it: the packet, its copies, and packets that it overtook. Copies
  /// share the payload's slot without retaining it.
  void enter(const transport::Packet& packet, std::uint64_t number, Instant now);
  std::vector<Out>& out() noexcept { return out_; }

  /// Latest time at which the first held packet leaves; Instant::max(): none is held.
  [[nodiscard]] Instant next_deadline() const noexcept;
  /// Removes that packet and returns it. Requires held() > 0.
  transport::Packet take_held();
  [[nodiscard]] std::size_t held() const noexcept { return held_packets_; }

  [[nodiscard]] const RuleCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const emulator::Pipeline& pipeline() const noexcept { return pipeline_; }

 private:
  struct Entry {
    Instant due;
    transport::Packet packet;
  };

  void apply(transport::Packet packet, const emulator::Decision& decision, Instant now);
  void count_drop(emulator::Stage stage) noexcept;
  void overtake(const transport::Packet& packet, const emulator::Decision& decision, Instant at);
  [[nodiscard]] std::size_t first_held() const noexcept;

  emulator::Pipeline pipeline_;
  PacketHeaders headers_;
  std::vector<emulator::Held<Entry>> held_;  // by rule
  std::size_t held_packets_ = 0;
  std::vector<Out> out_;
  RuleCounters counters_;
};

}  // namespace lw::sim
