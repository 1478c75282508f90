// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/plan/verdict.h"

#include <algorithm>
#include <cmath>

#include "gen/perf/plan/losses.h"
#include "transport/response_queue.h"

namespace lw::gen::planning {
namespace {

/// The estimate of the READs that wait is this exact.
constexpr double kFewFetches = 2;

/// How many of them are beyond those that the responder takes.
double refused_fetches(const perf::PerfConfig& config, const Quantities& given) noexcept {
  if (!config.fetches() || config.qp.max_dest_rd_atomic == 0) return -given.depth;
  return waiting_fetches(config, given) - config.qp.max_dest_rd_atomic;
}

/// Whether the windows together fill the buffer before a slower wavelength, which drops the rest.
bool overflows(const perf::PerfConfig& config, const Quantities& given) noexcept {
  const double rate = config.path.rate_bps;
  if (rate <= 0 || rate >= config.nic.rate_bps || config.path.rules) return false;
  const double outstanding = given.qps * given.window() * given.packet * rate / 8e9;
  return outstanding > static_cast<double>(config.path.buffer_bytes);
}

/// Whether the QPs' turns at the port vary, so that the recurrence doesn't hold: found by
/// simulation.
bool turns_vary(const perf::PerfConfig& config, const Quantities& given, double lossless) {
  constexpr double kFew = 3;                      // messages of a QP
  constexpr double kFewQps = 4, kLongBurst = 64;  // QPs; packets
  constexpr double kNearlyFull = 0.97;            // share of the link
  if (!take_turns(config, given) || given.depth > kFew) return false;
  if (config.path.loss > 0)
    return !fills_link(given, lossless) || !loses_little(config, given, lossless);
  const double burst = config.nic.arbitration_burst;
  const bool few = given.qps <= 2 ? burst > 1 : given.qps <= kFewQps && burst >= kLongBurst;
  return lossless * given.packet <= kNearlyFull && (config.fetches() || !few || given.depth >= 2);
}

double configured_timer(const perf::PerfConfig& config) noexcept {  // ns
  return static_cast<double>(transport::transport_timeout(config.qp.timeout).count());
}

/// Returns why no formula holds with losses; empty if one does.
std::string_view unknown_with_loss(const perf::PerfConfig& config, const Quantities& given,
                                   double lossless) {
  constexpr double kMostLoss = 0.01, kMostGaps = 0.1, kMostBroken = 5e-7, kMostInVain = 0.5;
  constexpr double kMuchWait = 0.12;                          // of the throughput
  constexpr double kMostly = 0.95;                            // of a QP's time
  const double few_waits = std::max(4e-5, 3e-6 * given.qps);  // a packet
  if (config.qp.timeout == 0) return "a lost packet may never be found with --timeout 0";
  if (config.path.loss > kMostLoss) return "losses above 1 % follow each other closely";
  const Losses losses = losses_of(given, config, config.path.loss);
  // Each retry without progress has lost a packet or its answer. A NAK of selective repeat is none.
  const bool selective = config.qp.recovery == transport::LossRecovery::selective_repeat;
  const double first = selective ? losses.waits : 2 * config.path.loss;
  if (first * std::pow(2 * config.path.loss, config.qp.retry_count) > kMostBroken)
    return "a QP may use up its --retries at this loss";
  // The formula lets the other QPs send while one waits; of QPs that mostly wait, none sends.
  const double mostly = losses.timeout / (losses.timeout + given.qps / lossless);
  const bool much = share_of_waits(config, given, lossless) > kMuchWait || mostly > kMostly;
  if (losses.waits < few_waits && much)
    return "the waits for --timeout are too long and too rare for a mean";
  if (config.fetches() && config.path.loss * wasted_packets(given, config) > kMostInVain)
    return "at this loss most of the READs or atomics are repeated";
  if (config.qp.adaptive_retransmission && take_turns(config, given))
    return "an adaptive timer follows how QPs with long messages take turns";
  const double waiting = given.qps * given.window() * given.packet;  // ns, of a READ behind others
  if (config.qp.adaptive_retransmission && config.fetches() && waiting > configured_timer(config))
    return "an adaptive timer follows how READs wait for each other";
  if (queues_behind_port(config)) return "losses change the queue behind the sender's port";
  // A window that fills the link without waiting for single ACKs goes on behind any gaps.
  const bool waits = !fills_link(given, lossless) || given.psns > 0 || take_turns(config, given);
  if (is_selective(config) && waits && given.window() * config.path.loss > kMostGaps)
    return "with selective repeat, a window may have several gaps at this loss";
  return {};
}

}  // namespace

std::string_view breaks_because(const perf::PerfConfig& config, const Quantities& given,
                                EarlyExpiry early) noexcept {
  const bool kept = config.qp.max_dest_rd_atomic < transport::ResponseQueue::kMost;
  if (kept && refused_fetches(config, given) > kFewFetches)
    return "the responder refuses READs, as more wait there than --responder-reads allows";
  if (early == EarlyExpiry::breaks)
    return "the timer expires more often than --retries allows before the first answer can come: "
           "raise --timeout";
  return {};
}

std::string_view unknown_because(const perf::PerfConfig& config, const Quantities& given,
                                 double lossless, EarlyExpiry early) {
  if (turns_vary(config, given, lossless))
    return "QPs with few long messages outstanding take turns at the port";
  if (given.psns > 0 && given.rest > 0 && !fills_link(given, lossless))
    return "a PSN window and the NIC's time for a packet limit together";
  if (early == EarlyExpiry::matters)
    return "the timer may expire without a loss, as --timeout is short for this path";
  if (overflows(config, given)) return "the windows may overflow --path-buffer";
  if (waiting_fetches(config, given) > transport::ResponseQueue::kMost)
    return "more READs wait than a responder keeps";
  const bool many = config.fetches() && given.depth > config.qp.max_dest_rd_atomic;
  // Selective repeat executes all READs behind a gap at once.
  const bool at_once =
      config.path.loss > 0 && config.qp.recovery == transport::LossRecovery::selective_repeat;
  const double most = at_once ? -given.depth : -std::min(kFewFetches, given.depth - 1);
  if (many && config.qp.max_dest_rd_atomic > 0 && refused_fetches(config, given) > most)
    return "the responder may refuse READs, as --reads is above --responder-reads";
  return config.path.loss > 0 ? unknown_with_loss(config, given, lossless) : std::string_view{};
}

}  // namespace lw::gen::planning
