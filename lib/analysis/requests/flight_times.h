// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/time.h"

namespace lw::analysis {

/// A queue in front of a full link, or of a receiver that takes no more.
struct StandingQueue {
  double rate = 0;       // PSNs per second
  double in_flight = 0;  // PSNs, while it stands
  Duration time{};       // that a packet waits
};

/// Adds a time >= 0 in ns to a sum of such times. Stamps are any numbers, so sums end at a most, of
/// which 64 can be added.
inline void add_time(std::int64_t& to, std::int64_t ns) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 64;
  to = ns > kMost - to ? kMost : to + ns;
}

/// How long SENDs and WRITEs took to their ACKs, and how much was in flight when they were sent.
struct FlightTimes {
  /// What was seen while round trips were short, or long: a quarter longer than the shortest, or
  /// more.
  struct Seen {
    std::uint64_t round_trips = 0;
    std::uint64_t acknowledged = 0;  // PSNs
    std::uint64_t in_flight = 0;     // PSNs: the sum over the round trips
    std::int64_t time = 0;           // ns, without those in which nothing was in flight
    std::int64_t waited = 0;         // ns: the sum of the round trips

    [[nodiscard]] double rate() const noexcept {
      return time > 0 ? static_cast<double>(acknowledged) * 1e9 / static_cast<double>(time) : 0;
    }
    [[nodiscard]] double mean_in_flight() const noexcept {
      return round_trips > 0 ? static_cast<double>(in_flight) / static_cast<double>(round_trips)
                             : 0;
    }
  };
  /// Time between two requests, by its number of bits in ns.
  struct Gaps {
    std::uint64_t count = 0;
    std::int64_t time = 0;  // ns
  };

  Seen low, high;
  std::int64_t shortest = 0;    // round trip, in ns; 0: none
  std::int64_t idle = 0;        // ns, in which nothing was in flight
  std::array<Gaps, 36> gaps{};  // the last: all longer ones

  void add_gap(std::int64_t ns) noexcept {
    if (ns < 0) return;
    const auto bits = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(ns)));
    Gaps& slot = gaps[std::min(bits, gaps.size() - 1)];
    ++slot.count;
    add_time(slot.time, ns);
  }
  /// Whether requests came at an even rate: four in five, and nine tenths of the time, are gaps of
  /// two neighbouring numbers of bits; of 64 or more.
  [[nodiscard]] bool is_even() const noexcept {
    constexpr std::uint64_t kEnough = 64;
    Gaps all, most;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      all.count += gaps[i].count;
      all.time += gaps[i].time;
      if (i == 0) continue;
      const Gaps two{gaps[i - 1].count + gaps[i].count, gaps[i - 1].time + gaps[i].time};
      if (two.time > most.time) most = two;
    }
    return all.count >= kEnough && 5 * most.count >= 4 * all.count &&
           most.time >= all.time - all.time / 10;
  }
  /// The queue that makes round trips long, if they are so for half of `span`, the time from the
  /// first packet to the last, or more; while they are, at least as much is acknowledged in a time
  /// as while they are short (but for a fifth); and more is in flight then, by half. A path that
  /// grows longer, or waits that come and go, do not depend on what is in flight. Several packets
  /// wait in it, for half of the shortest round trip or more: less is the time that an end needs.
  /// Nothing: no such queue was seen; it may have stood all the time.
  [[nodiscard]] std::optional<StandingQueue> standing_queue(Duration span) const noexcept {
    constexpr std::uint64_t kEnough = 16;
    if (high.round_trips < kEnough || 2 * high.time < span.count()) return std::nullopt;
    if (high.rate() < 0.8 * low.rate() || high.mean_in_flight() < 1.5 * low.mean_in_flight())
      return std::nullopt;
    return possible_queue();
  }
  /// A queue in which packets may have waited: for half of the shortest round trip or more, some
  /// time. An end that needs as long, or a path whose delay varies, looks alike. Nothing: round
  /// trips show that there was none.
  [[nodiscard]] std::optional<StandingQueue> possible_queue() const noexcept {
    constexpr double kSeveral = 4;
    if (high.round_trips == 0 || low.round_trips == 0) return std::nullopt;
    const auto trips = static_cast<std::int64_t>(high.round_trips);
    const std::int64_t time = high.waited / trips - shortest;
    const bool several = high.rate() * static_cast<double>(time) >= kSeveral * 1e9;
    if (!several || time < shortest / 2) return std::nullopt;
    return StandingQueue{
        .rate = high.rate(), .in_flight = high.mean_in_flight(), .time = Duration{time}};
  }
};

}  // namespace lw::analysis
