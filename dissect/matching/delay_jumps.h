// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lw::dissect {

/// The value with the share `q` of the others below it. Changes the order of `values`, which are
/// not empty.
double quantile_of(std::vector<double>& values, double q);

/// A place where delays jump: the packets from there on differ from those before it.
struct DelayJump {
  std::size_t place = 0;
  double clearness = 0;  // by so many times it exceeds what other places show: 1 or more
};

/// Finds jumps of delays (ns, in the order of the packets), the clearest first: candidates, of
/// which several may be of one step.
///
/// At each place, the difference to the packet before it is added to that between the means of the
/// 1, 2, 4 ... 256 packets behind it and before it, each weighted by the inverse of its variance.
/// This finds steps of delays that are independent, of delays that follow each other from packet to
/// packet (there, the first difference shows most), and of those in between. The variances are
/// those of all places, of the delays and of their normal scores by rank; of scales for which
/// the series is too short, they follow from the growth between shorter ones. A jump must be
/// kJumpDeviations of them, and more where the differences change their sign seldom, as then few
/// of them are independent. Of more than 32,768 packets, each n-th is looked at first.
std::vector<DelayJump> find_delay_jumps(std::span<const double> delays);
inline constexpr double kJumpDeviations = 7;

/// Growth of the delays at a place, by the number of packets (1, 2, 4 ... 128) on either side whose
/// means vary least elsewhere.
double growth_at(std::span<const double> delays, std::size_t place);

}  // namespace lw::dissect
