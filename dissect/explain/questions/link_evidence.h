// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "dissect/explain/facts/evidence.h"

namespace lw::dissect {

/// The rate of the links that the packets pass, and where it is from.
struct LinkRate {
  enum class Source : std::uint8_t { option, interface, learned };
  double rate = 0;  // b/s; 0: nothing tells
  Source source = Source::learned;

  /// Whether a link may have a rate that is much higher: the rate is only what was seen.
  [[nodiscard]] bool is_stated() const noexcept { return source != Source::learned; }
  /// "100.0 Gb/s (--link-rate)", "98.0 Gb/s (the highest of 16 packets in a row)".
  [[nodiscard]] std::string text() const;
};

/// That of --link-rate, or the lowest that the capture's interfaces state, or the highest at which
/// 16 packets in a row came to a host.
LinkRate link_rate_of(const Evidence& evidence);

/// Packets of several hosts that came to one host, 64 or more in a row, at 95 % of the link's rate
/// or more, and for how long.
struct FilledLink {
  std::uint64_t packets = 0;
  Duration time{};
};
/// The one with most packets, of all hosts.
FilledLink filled_link_of(const Evidence& evidence, const LinkRate& link);

/// Packets that were lost before the capture point, by how busy the link to their receiver was
/// then: what passed the point around them shows it.
struct LossLoads {
  std::uint64_t several = 0;  // three quarters of its rate or more, with packets of several hosts
  std::uint64_t full = 0;     // as much, with packets of one host
  std::uint64_t idle = 0;     // less than half of its rate
  std::uint64_t others = 0;   // between, or not known
  /// Losses of one packet or several in a row; those while the link was at three quarters of its
  /// rate or more; and which share of all packets to these hosts came at such times.
  std::uint64_t runs = 0, busy_runs = 0;
  double busy_share = 0;
  std::set<std::uint32_t> targets;  // indices of the hosts that they did not come to

  [[nodiscard]] std::uint64_t all() const noexcept { return several + full + idle + others; }
  /// Whether losses that are independent of the load show this in less than one of a million
  /// captures (H. Chernoff 1952): where nearly all packets come at busy times, any loss does.
  [[nodiscard]] bool follow_load() const noexcept;
};
LossLoads loss_loads_of(const Evidence& evidence, const LinkRate& link);

/// How fast packets of several hosts together came to one host, beside those of one host alone: to
/// the host that most rows of 16 packets of several hosts came to.
struct SharedLink {
  double alone = 0, together = 0;       // b/s: the fourth highest of these rows
  std::uint64_t rows = 0;               // of several hosts
  std::uint64_t full = 0;               // of these: at nine tenths of `alone` or more
  Duration full_time{};                 // of those
  Duration time{};                      // from the first of all rows to the last
  std::uint64_t rows_of_all_hosts = 0;  // in the capture, of one host or several

  /// Whether several hosts together were no faster than one alone, and mostly as fast: the link
  /// that they share is full. Hosts that pace are faster together.
  [[nodiscard]] bool is_full() const noexcept;
  /// Whether it was full, so, for half of the time, and with 512 packets or more.
  [[nodiscard]] bool was_full_for_long() const noexcept;
};
SharedLink shared_link_of(const Evidence& evidence);

/// By how much round trips were longer than the shortest of their direction.
struct RoundTripGrowth {
  std::uint64_t samples = 0;
  Duration usual_wait{};    // nine in ten, at most
  Duration longest_wait{};  // all
  double share = 0;  // longest_wait, of the path from the sender to the receiver and back: the way
                     // without the 2 us that NICs need

  /// Keeps the most of several directions.
  void add(const RoundTripGrowth& other) noexcept;
};

/// Round trips of SENDs, WRITEs and READs. Growth is measured where nothing was sent again between
/// a request and its answer, of directions with four such samples or more.
struct RoundTrips {
  std::uint64_t sampled = 0;  // packets of the directions that have enough round trips
  std::uint64_t others = 0;   // packets of the other directions
  std::uint64_t seen = 0;     // round trips, disturbed or not
  RoundTripGrowth all = {};
  /// Of the directions whose receiver is next to the capture point, and of the others. What grows
  /// between the point and a receiver next to it is the receiver's own time, if all packets that
  /// come to it pass the point.
  RoundTripGrowth near = {}, far = {};
  std::map<std::uint32_t, RoundTripGrowth> to;  // by the receiver's host
  /// The longest way that is known from a sender to its receiver and back.
  Duration longest_way{};
  /// NAKs of packets that were lost behind the point, and the most by which the time to one, from
  /// the packet behind the lost one, was longer than the shortest round trip.
  std::uint64_t loss_naks = 0;
  Duration longest_loss_wait{};
};
RoundTrips round_trips_of(const Evidence& evidence);
/// Of the directions whose round trips show a path: not of those whose receiver is next to the
/// point and gets one host's packets, which met nothing on the rest of their way.
const RoundTripGrowth& path_growth(const RoundTrips& trips, const SharedLink& shared);

}  // namespace lw::dissect
