// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "emulator/direction.h"
#include "sim/event_queue.h"
#include "sim/host.h"

namespace lw::sim {

/// Hosts in the west and in the east, the lines between them, and a clock that jumps. What a host
/// sends arrives a line's delay later, so each side runs by itself for as long as the shortest
/// line takes: its events stay in the cache, and only its own few sources compete for the next.
/// Given the same configuration and calls it does the same, event by event. One thread.
class Simulation {
 public:
  Simulation() = default;
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  Simulation(Simulation&&) = delete;
  Simulation& operator=(Simulation&&) = delete;
  ~Simulation() = default;

  /// A line delivers to the hosts of its far side, as its packets name them. Its least delay is at
  /// least 1 ns; the longer it is, the faster the simulation. References stay good.
  Line& add_line(emulator::Direction direction, const LineConfig& config);
  /// A host on the side where `out` begins; numbered from 0 in this order.
  Host& add_host(const NicConfig& nic, transport::Memory memory, Line& out);

  /// Where all events have been dealt with. Between calls: no host is ahead of it.
  [[nodiscard]] Instant now() const noexcept { return now_; }
  [[nodiscard]] Host& host(std::size_t number) noexcept { return *hosts_[number].host; }
  [[nodiscard]] Line& line(std::size_t number) noexcept { return *lines_[number].line; }
  [[nodiscard]] std::size_t hosts() const noexcept { return hosts_.size(); }
  [[nodiscard]] transport::PayloadStore& store() noexcept { return store_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

  /// All events of one stretch: up to the shortest line's delay, not past `until`. False, and the
  /// clock stands, when there is none up to then.
  bool advance(Instant until = Instant::max());
  /// All events up to and at `until`; the clock is there afterwards.
  void run_until(Instant until);
  /// Until nothing happens any more, or `until` is reached. Whether it came to rest.
  bool run_to_rest(Instant until);

 private:
  struct Source {
    Line* line = nullptr;  // that arrives here, else
    Host* host = nullptr;
  };
  struct Side {
    EventQueue events;
    std::vector<Source> sources;
    void refresh() noexcept;
    /// One line that arrives, and one host behind it: of most simulations either side is that.
    [[nodiscard]] bool pair() const noexcept {
      return sources.size() == 2 && sources[0].line && sources[1].host;
    }
  };
  struct PlacedLine {
    std::unique_ptr<Line> line;
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
  void run_pair(Line& line, Host& host, Instant end);
  /// Null where there is no host of this number, both.
  [[nodiscard]] PlacedHost* find_placed(std::uint16_t number) noexcept {
    return number < hosts_.size() ? &hosts_[number] : nullptr;
  }
  [[nodiscard]] Host* find_host(std::uint16_t number) noexcept {
    PlacedHost* placed = find_placed(number);
    return placed ? placed->host.get() : nullptr;
  }
  void deliver(Line& line, const transport::Packet& packet, Host* host, Instant now);

  transport::PayloadStore store_;
  std::vector<PlacedLine> lines_;
  std::vector<PlacedHost> hosts_;
  std::array<Side, 2> sides_;
  Duration shortest_ = Duration::max();
  Instant now_;
  std::uint64_t events_ = 0;
};

}  // namespace lw::sim
