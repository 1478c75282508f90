// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/plan/losses.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lw::gen::planning {
namespace {

/// Probability that a recovery must wait for the timer.
double timer_share(const Quantities& given, const perf::PerfConfig& config, double p) noexcept {
  // Go-back-N: one NAK and one retransmission per gap. IRN repeats its NAKs, so that a lost request
  // of a READ waits only if it is lost again, and a lost response if either is.
  const bool fetched =
      config.fetches() && config.qp.recovery == transport::LossRecovery::selective_repeat;
  double share = fetched                ? p * (2 + 1 / given.packets) / (1 + 1 / given.packets)
                 : is_selective(config) ? p
                                        : 1 - (1 - p) * (1 - p);
  if (given.window() < 2 * given.packets || given.depth < 2) {
    // No packet follows the last one of the window (READ: the request, and the last response).
    // Selective repeat then sends the oldest packet again, and waits a second time for the last.
    const double times = is_selective(config) && given.packets > 1 ? 2 : 1;
    share += config.fetches() ? 2 / (given.packets + 1)
                              : times / std::min(given.packets, given.window());
  } else {
    share += std::pow(p, std::max(1.0, given.window() - given.packets));
  }
  return std::min(1.0, share);
}

/// Returns the share of the link that is idle while one QP waits for its timer: what the windows of
/// the other QPs don't fill.
double idle_link_share(const Quantities& given) noexcept {
  const double cycle = given.round_trip + given.message;
  return std::max(0.0, 1 - (given.qps - 1) * given.window() * given.packet / cycle);
}

/// Returns packets per ns of all QPs with go-back-N: the smaller of the windows' and the link's
/// limit.
double go_back_n_rate(const Quantities& given, const perf::PerfConfig& config, const Losses& losses,
                      double lossless) noexcept {
  const double p = losses.recoveries, window = given.window();
  const double cycle = given.qps * window / lossless;
  double a_packet = 0;  // ns per packet of one QP
  if (given.depth < 2 && given.psns == 0) {
    a_packet = cycle / given.packets + p / (1 - p) * (given.round_trip + given.packet);
  } else {
    // Rounds of a window per cycle. The first round after a recovery begins within a message.
    const double first = std::max(1.0, window - (given.psns > 0 ? 0 : (given.packets - 1) / 2));
    const double until = 1 / p;  // mean number of the lost packet, from 1
    const double rounds = std::pow(1 - p, first - 1) / -std::expm1(window * std::log1p(-p));
    const double within = given.packet * std::max(0.0, until + window - first - window * rounds);
    const double each = cycle * rounds + within + given.round_trip + given.packet;
    a_packet = each / std::max(until - 1, 1e-9);
  }
  const double by_window = given.qps / (a_packet + losses.timeout);
  // A lost request costs the link of the responses nothing.
  const double in_vain = (config.fetches() ? losses.p : p) * wasted_packets(given, config);
  const double waits = losses.timeout / given.qps * idle_link_share(given);
  const double by_line = 1 / (given.packet * (1 + in_vain) / (1 - p) + waits);
  return std::min({lossless, by_window, by_line});
}

/// Returns packets per ns of all QPs with selective repeat: a gap blocks the window for a round
/// trip.
double selective_rate(const Quantities& given, const Losses& losses, double lossless) noexcept {
  const double line = (1 - losses.p) / given.packet / given.qps;
  const bool by_window = lossless * given.packet < 0.97;
  const double window = given.window();
  const double cycle = by_window ? given.qps * window / lossless : given.round_trip + given.message;
  double rate = lossless / given.qps;
  for (int i = 0; i < 50; ++i) {  // fixed-point iteration
    const double gap = -std::expm1(rate * cycle * std::log1p(-losses.p));
    rate = (rate + std::min(line, window / (cycle + gap * given.round_trip))) / 2;
  }
  // While the timer runs, the QP sends until its window is full.
  const double full = window * given.packet * given.qps;
  const double idle = std::max(0.0, 1 - std::max(0.0, full - given.round_trip) / losses.timer);
  const double share = by_window ? 1 : idle_link_share(given);  // a window waits alone
  const double waits = losses.timeout > 0 ? losses.timeout * idle * share : 0;
  return std::min(lossless, given.qps / (1 / rate + waits));
}

}  // namespace

Losses losses_of(const Quantities& given, const perf::PerfConfig& config, double p) noexcept {
  Losses losses{.p = p, .recoveries = config.fetches() ? p + p / given.packets : p};
  double timer = static_cast<double>(transport::transport_timeout(config.qp.timeout).count());
  if (config.qp.adaptive_retransmission) {
    constexpr double kLeast = 1.5;  // see RetryTimer
    const double queue =
        queued_share(config, given) > 0 ? given.qps * given.window() * given.packet : 0;
    timer = std::min(timer, kLeast * std::max(given.round_trip + given.message, queue));
  }
  if (config.qp.timeout == 0) timer = std::numeric_limits<double>::infinity();
  // All answers of a window may also be lost.
  const double messages = std::max(1.0, std::min(given.depth, given.window() / given.packets));
  const double answers = config.fetches() ? 0 : std::pow(p, messages) / given.packets;
  const double waits = losses.recoveries * timer_share(given, config, p) + answers;
  losses.waits = waits;
  losses.timer = timer;
  losses.timeout = waits > 0 ? waits * timer / (1 - p) : 0;
  return losses;
}

double wasted_packets(const Quantities& given, const perf::PerfConfig& config) noexcept {
  if (queued_share(config, given) > 0)  // the responder first sends everything requested before
    return given.window() - given.packets / 2;
  const double trip = given.round_trip / given.packet;
  double wasted = trip / given.qps;
  if (given.qps > 1) {
    const double most = config.nic.arbitration_burst;
    const double whole = std::floor(given.packets / most), rest = given.packets - whole * most;
    const double burst = (whole * most * most + rest * rest) / given.packets;
    if (trip < burst) wasted = trip - trip * trip / (2 * burst);
    if (trip >= burst && trip < (given.qps - 1) * burst) wasted = std::max(burst / 2, wasted);
  }
  return std::min(wasted, given.window());
}

double throughput_of(const perf::PerfConfig& config, const Quantities& given, double lossless,
                     double p) {
  double rate = lossless;
  if (p >= 1) return 0;
  if (p > 0) {
    const Losses losses = losses_of(given, config, p);
    rate = is_selective(config) ? selective_rate(given, losses, lossless)
                                : go_back_n_rate(given, config, losses, lossless);
  }
  return rate * 8e9 * config.size / given.packets;
}

double loss_for_a_tenth(const perf::PerfConfig& config, const Quantities& given, double lossless) {
  const double goal = 0.9 * throughput_of(config, given, lossless, 0);
  double low = std::log(1e-12), high = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (throughput_of(config, given, lossless, std::exp(middle)) > goal ? low : high) = middle;
  }
  return std::exp(low);
}

double share_of_waits(const perf::PerfConfig& config, const Quantities& given, double lossless) {
  perf::PerfConfig quick = config;
  quick.qp.timeout = 1;
  const double without = throughput_of(quick, given, lossless, config.path.loss);
  return 1 - throughput_of(config, given, lossless, config.path.loss) / without;
}

bool loses_little(const perf::PerfConfig& config, const Quantities& given, double lossless) {
  constexpr double kLittle = 0.03;
  return throughput_of(config, given, lossless, config.path.loss) >=
         (1 - kLittle) * throughput_of(config, given, lossless, 0);
}

}  // namespace lw::gen::planning
