// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
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
  std::uint64_t rows_of_all_hosts = 0;  // in the capture, of one host or several

  /// Whether several hosts together were no faster than one alone, and mostly as fast: the link
  /// that they share is full. Hosts that pace are faster together.
  [[nodiscard]] bool is_full() const noexcept;
};
SharedLink shared_link_of(const Evidence& evidence);

/// Round trips of SENDs, WRITEs and READs.
struct RoundTrips {
  std::uint64_t sampled = 0;  // packets of the directions that have enough round trips
  std::uint64_t others = 0;   // packets of the other directions
  /// Of all that have some: the most by which a round trip was longer than the shortest, and that
  /// as a share of the whole way from the sender to the receiver and back.
  Duration longest_wait{};
  double growth = 0;
  std::uint64_t samples = 0;  // of these directions
  /// The longest way that is known from a sender to its receiver and back.
  Duration longest_way{};
  /// By how much nine in ten round trips of a direction were longer than its shortest, at most: of
  /// all directions, the most.
  Duration usual_wait{};
  /// NAKs of packets that were lost behind the point, and the most by which the time to one, from
  /// the packet behind the lost one, was longer than the shortest round trip.
  std::uint64_t loss_naks = 0;
  Duration longest_loss_wait{};
};
RoundTrips round_trips_of(const Evidence& evidence);

}  // namespace lw::dissect
