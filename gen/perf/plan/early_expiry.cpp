// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/plan/early_expiry.h"

#include <algorithm>
#include <cmath>

#include "gen/perf/plan/losses.h"

namespace lw::gen::planning {
namespace {

/// Packets of a SEND or WRITE up to the next that requests an ACK.
double asked_packets(const perf::PerfConfig& config, const Quantities& given) noexcept {
  const double most = std::min(given.packets, given.window());
  return config.qp.ack_every > 0 ? std::min<double>(most, config.qp.ack_every) : most;
}

/// Returns the longest time in ns from a packet, or an answer, until the QP's next answer, without
/// losses.
double longest_wait(const perf::PerfConfig& config, const Quantities& given) noexcept {
  const double burst = config.nic.arbitration_burst;
  const double others = given.qps - 1;
  const double queue = queues_behind_port(config) ? given.qps * given.window() : 0;
  if (config.fetches()) {  // one burst of each other QP comes before the next of this one
    const double turn =
        queued_share(config, given) > 0 ? others * std::min(burst, given.packets) : 0;
    return given.round_trip + (queue + 1 + turn) * given.packet;
  }
  const double asked = asked_packets(config, given);
  const double turns = given.packets > burst ? std::ceil(asked / burst) * others * burst : 0;
  return given.round_trip + (queue + asked + turns) * given.packet;
}

/// An adaptive timer is at least 1.5 measured round trips long, and doubles at each expiry
/// (RetryTimer). It measures until all of a READ has come, or until an ACK of a packet or more.
double adaptive_expiries(const perf::PerfConfig& config, const Quantities& given, double longest,
                         double configured) noexcept {
  const double behind = config.fetches() ? given.packets : 1;
  const double first = std::min(configured, 1.5 * (given.round_trip + behind * given.packet));
  double expiries = 0;
  for (double at = first; at <= longest && expiries < 8; ++expiries)
    at += std::min(configured, first * std::exp2(expiries + 1));
  return expiries;
}

/// Whether an adaptive timer follows the waits of this configuration: found by simulation. It
/// measures the wait for the others' turns, too, unless these vary.
bool follows_waits(const perf::PerfConfig& config, const Quantities& given, double lossless,
                   double longest) noexcept {
  constexpr std::uint8_t kManyRetries = 7, kSomeRetries = 3;  // not used up before it has measured
  constexpr double kShort = 3.5;                              // round trips
  const bool turns = take_turns(config, given), full = fills_link(given, lossless);
  const std::uint8_t retries = config.qp.retry_count;
  if (config.fetches())
    return retries >= kManyRetries && ((turns && full) || longest < kShort * given.round_trip);
  if (retries < kSomeRetries) return false;
  if (queues_behind_port(config)) return given.packets == 1;
  return !turns || (full && given.depth < 2);
}

/// Returns the share of a cycle that early expiries take from the messages. `expiries` of a cycle
/// of `cycle` ns come `timer` ns after each other.
double cost_of(const perf::PerfConfig& config, const Quantities& given, double expiries,
               double timer, double cycle) noexcept {
  const double window = given.qps * given.window() * given.packet;  // ns of the port
  if (is_selective(config)) {  // sends one packet again for each expiry
    const double again = expiries * given.qps * given.packet;
    return std::clamp(window + again - cycle, 0.0, again) / cycle;
  }
  // What is sent again delays the answers that come within two windows after the last expiry.
  if ((expiries + 1) * window > given.round_trip) return window / cycle;
  return std::clamp(expiries * timer + 2 * window - given.round_trip, 0.0, window) / cycle;
}

}  // namespace

EarlyExpiry early_expiry(const perf::PerfConfig& config, const Quantities& given, double lossless) {
  if (config.qp.timeout == 0) return EarlyExpiry::none;
  const auto timer = static_cast<double>(transport::transport_timeout(config.qp.timeout).count());
  const double longest = longest_wait(config, given), tries = config.qp.retry_count + 1.0;
  if (tries * timer < given.round_trip) return EarlyExpiry::breaks;
  const double expiries = config.qp.adaptive_retransmission
                              ? adaptive_expiries(config, given, longest, timer)
                              : std::floor(longest / timer);
  if (expiries < 1) return EarlyExpiry::none;
  if (config.fetches() && longest >= tries * timer) return EarlyExpiry::breaks;
  if (expiries >= tries || !loses_little(config, given, lossless)) return EarlyExpiry::matters;
  if (config.qp.adaptive_retransmission && longest < timer &&
      follows_waits(config, given, lossless, longest))
    return EarlyExpiry::harmless;
  constexpr double kLittle = 0.01;
  const double cycle = given.qps * given.window() / lossless;
  return cost_of(config, given, expiries, timer, cycle) <= kLittle ? EarlyExpiry::harmless
                                                                   : EarlyExpiry::matters;
}

}  // namespace lw::gen::planning
