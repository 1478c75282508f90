// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/time.h"
#include "emulator/direction.h"
#include "sim/host.h"
#include "transport/event_queue.h"

namespace lw::sim {

/// Hosts in the west and in the east, the links between them, and a virtual clock. A packet arrives
/// a link's delay after it was sent, so each side runs alone for as long as the shortest delay: its
/// events stay in the cache, and only its own few sources compete for the next event.
/// Deterministic: the same configuration and calls give the same events. One thread.
class Simulation {
 public:
  Simulation() = default;
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  Simulation(Simulation&&) = delete;
  Simulation& operator=(Simulation&&) = delete;
  ~Simulation() = default;

  /// Adds a link. It delivers each packet to the host on its far side that the packet names. The
  /// longer its least delay, the faster the simulation. References stay valid.
  SimLink& add_link(emulator::Direction direction, const SimLinkConfig& config);
  /// Adds a host on the side where `out` begins. Hosts are numbered from 0 in this order.
  Host& add_host(const perf::NicConfig& nic, transport::Memory memory, SimLink& out);

  /// Virtual time: all events up to it are processed, and none after it.
  [[nodiscard]] Instant now() const noexcept { return now_; }
  [[nodiscard]] Host& host(std::size_t number) noexcept { return *hosts_[number].host; }
  [[nodiscard]] SimLink& link(std::size_t number) noexcept { return *links_[number].link; }
  [[nodiscard]] std::size_t hosts() const noexcept { return hosts_.size(); }
  [[nodiscard]] transport::PayloadStore& store() noexcept { return store_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

  /// Processes one step: up to the shortest link delay, not past `until`. Returns false if there is
  /// no event up to then; the clock then stays.
  bool advance(Instant until = Instant::max());
  /// Processes all events up to and including `until`, and sets the clock to `until`.
  void run_until(Instant until);
  /// Runs until no event is left, or until `until`. Returns whether no event is left.
  bool run_to_rest(Instant until);

 private:
  struct Source {
    SimLink* link = nullptr;  // it arrives here, or
    Host* host = nullptr;
  };
  struct Side {
    transport::EventQueue events;
    std::vector<Source> sources;
    void refresh() noexcept;
    /// Whether this is one link and the host behind it, as both sides of most simulations are.
    [[nodiscard]] bool pair() const noexcept {
      return sources.size() == 2 && sources[0].link && sources[1].host;
    }
  };
  struct PlacedLink {
    std::unique_ptr<SimLink> link;
    emulator::Direction direction{};
  };
  struct PlacedHost {
    std::unique_ptr<Host> host;
    std::uint32_t source = 0;  // in its side's events
  };

  [[nodiscard]] Side& side_from(emulator::Direction direction) noexcept {
    return sides_[direction == emulator::Direction::west_to_east ? 0 : 1];
  }
  [[nodiscard]] Side& side_to(emulator::Direction direction) noexcept {
    return sides_[direction == emulator::Direction::west_to_east ? 1 : 0];
  }
  static std::uint32_t add_source(Side& side, Source source);
  void run_side(Side& side, Instant end);
  void run_pair(SimLink& link, Host& host, Instant end);
  /// Both return null for an unknown number.
  [[nodiscard]] PlacedHost* find_placed(std::uint16_t number) noexcept {
    return number < hosts_.size() ? &hosts_[number] : nullptr;
  }
  [[nodiscard]] Host* find_host(std::uint16_t number) noexcept {
    PlacedHost* placed = find_placed(number);
    return placed ? placed->host.get() : nullptr;
  }
  void deliver(SimLink& link, const transport::Packet& packet, Host* host, Instant now);

  transport::PayloadStore store_;
  std::vector<PlacedLink> links_;
  std::vector<PlacedHost> hosts_;
  std::array<Side, 2> sides_;
  Duration shortest_ = Duration::max();
  Instant now_;
  std::uint64_t events_ = 0;
};

}  // namespace lw::sim
