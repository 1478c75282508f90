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

namespace lw::sim {

/// Finds the source with the next event. Up to four are scanned; more are a binary heap that knows
/// the position of each source. (tests/bench/sim_bench: two sources in a heap cost a simulated
/// packet 40 ns of swaps.) Equal times go by source number: deterministic.
class EventQueue {
 public:
  /// Adds a source without an event.
  std::uint32_t add() {
    const std::uint32_t source = sources_++;
    times_.resize(std::max<std::size_t>(sources_, kScanned), Instant::max());
    place_.push_back(source);
    heap_.push_back(source);
    if (scanned()) return source;
    for (std::size_t i = heap_.size(); i-- > 0;) sift_down(i);
    return source;
  }
  /// Sets the source's next event; Instant::max(): none.
  void set(std::uint32_t source, Instant at) noexcept {
    Instant& time = times_[source];
    if (!scanned() && at != time) {
      sift(source, at);
    } else {
      time = at;
    }
  }
  /// The source that is next, and its time. Both require a source.
  [[nodiscard]] std::uint32_t next_source() const noexcept {
    const Instant* at = times_.data();
    const std::uint32_t low = at[1] < at[0] ? 1 : 0;
    if (sources_ <= 2) return low;
    if (!scanned()) return heap_.front();
    const std::uint32_t high = at[3] < at[2] ? 3 : 2;
    return at[high] < at[low] ? high : low;
  }
  [[nodiscard]] Instant next_at() const noexcept { return times_[next_source()]; }
  [[nodiscard]] Instant at(std::uint32_t source) const noexcept { return times_[source]; }

 private:
  static constexpr std::size_t kScanned = 4;
  [[nodiscard]] bool scanned() const noexcept { return sources_ <= kScanned; }

  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    return times_[a] != times_[b] ? times_[a] < times_[b] : a < b;
  }
  void sift(std::uint32_t source, Instant at) noexcept {
    const bool sooner = at < times_[source];
    times_[source] = at;
    sooner ? sift_up(place_[source]) : sift_down(place_[source]);
  }
  void sift_up(std::size_t i) noexcept {
    while (i > 0 && before(heap_[i], heap_[(i - 1) / 2])) {
      exchange(i, (i - 1) / 2);
      i = (i - 1) / 2;
    }
  }
  void sift_down(std::size_t i) noexcept {
    for (;;) {
      std::size_t least = 2 * i + 1;
      if (least >= heap_.size()) return;
      if (least + 1 < heap_.size() && before(heap_[least + 1], heap_[least])) ++least;
      if (!before(heap_[least], heap_[i])) return;
      exchange(i, least);
      i = least;
    }
  }
  void exchange(std::size_t a, std::size_t b) noexcept {
    std::swap(heap_[a], heap_[b]);
    place_[heap_[a]] = static_cast<std::uint32_t>(a);
    place_[heap_[b]] = static_cast<std::uint32_t>(b);
  }

  std::uint32_t sources_ = 0;
  std::vector<Instant> times_;        // by source; unused ones have no event
  std::vector<std::uint32_t> heap_;   // sources
  std::vector<std::uint32_t> place_;  // by source: its index in heap_
};

/// Hosts in the west and in the east, the links between them, and a virtual clock. A packet arrives
/// a link's delay after it was sent, so each side runs alone for as long as the shortest delay: its
/// events stay in the cache, and only its own few sources compete for the next. Deterministic: the
/// same configuration and calls give the same events. One thread.
class Simulation {
 public:
  Simulation() = default;
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  Simulation(Simulation&&) = delete;
  Simulation& operator=(Simulation&&) = delete;
  ~Simulation() = default;

  /// Adds a link, which delivers to the hosts of its far side that its packets name. The longer its
  /// least delay, the faster the simulation. References stay valid.
  SimLink& add_link(emulator::Direction direction, const SimLinkConfig& config);
  /// Adds a host on the side where `out` begins. Hosts are numbered from 0 in this order.
  Host& add_host(const NicConfig& nic, transport::Memory memory, SimLink& out);

  /// All events up to here are processed, and none after.
  [[nodiscard]] Instant now() const noexcept { return now_; }
  [[nodiscard]] Host& host(std::size_t number) noexcept { return *hosts_[number].host; }
  [[nodiscard]] SimLink& link(std::size_t number) noexcept { return *links_[number].link; }
  [[nodiscard]] std::size_t hosts() const noexcept { return hosts_.size(); }
  [[nodiscard]] transport::PayloadStore& store() noexcept { return store_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

  /// Processes one step: up to the shortest link delay, not past `until`. False, and the clock
  /// doesn't move, when there is no event up to then.
  bool advance(Instant until = Instant::max());
  /// Processes all events up to and including `until`, where the clock is afterwards.
  void run_until(Instant until);
  /// Runs until no event is left, or until `until`. Whether no event is left.
  bool run_to_rest(Instant until);

 private:
  struct Source {
    SimLink* link = nullptr;  // it arrives here, or
    Host* host = nullptr;
  };
  struct Side {
    EventQueue events;
    std::vector<Source> sources;
    void refresh() noexcept;
    /// One link that arrives, and one host behind it: both sides of most simulations.
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
