// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "sim/perf_setup.h"

namespace lw::sim {

using transport::Completion;
using transport::Status;

namespace {

/// Keeps each QP's send queue full until its messages are all posted.
class Blast : public Application {
 public:
  Blast(const PerfConfig& config, SteadySpan span, std::uint64_t a_qp)
      : request_(request_of(config)), span_(span), left_(config.qps, a_qp) {}

  void start(Simulation& simulation, Host& client) {
    for (std::uint32_t qp = 0; qp < left_.size(); ++qp) {
      while (left_[qp] > 0 && client.post(qp, request_, simulation.now())) --left_[qp];
    }
  }
  void on_completion(Host& host, std::uint32_t qp, const Completion& done, Instant now) override {
    if (done.status != Status::success) {
      ++failed;
      return;
    }
    last = now;
    if (++completed == span_.begin) begin_at = now;
    if (completed == span_.end) end_at = now;
    if (left_[qp] > 0 && host.post(qp, request_, now)) --left_[qp];
  }
  [[nodiscard]] double steady_bps() const noexcept {
    const auto ns = static_cast<double>((end_at - begin_at).count());
    const auto messages = static_cast<double>(span_.end - span_.begin);
    return completed < span_.end || ns <= 0 ? 0 : messages * request_.length * 8e9 / ns;
  }

  std::uint64_t completed = 0, failed = 0;
  Instant last, begin_at, end_at;

 private:
  transport::WorkRequest request_;
  SteadySpan span_;
  std::vector<std::uint64_t> left_;
};

bool fetches(wire::Operation operation) noexcept {
  return operation != wire::Operation::send && operation != wire::Operation::write;
}

/// How many messages all QPs together may have on the way.
std::uint64_t window_of(const PerfConfig& config) noexcept {
  std::uint64_t window = std::min(config.qp.tx_depth, config.qp.max_outstanding_wqe);
  if (fetches(config.operation)) window = std::min<std::uint64_t>(window, config.qp.max_rd_atomic);
  return window * config.qps;
}

}  // namespace

SteadySpan steady_span(const PerfConfig& config) noexcept {
  constexpr double kSettled = 10'000;  // packets: what is cut off at the ends is 1e-4 of them
  const Duration round_trip = round_trip_of(config);
  const double path_bytes = static_cast<double>(round_trip.count()) * config.nic.rate_bps / 8e9;
  const double window_bytes = static_cast<double>(window_of(config)) * config.size;
  const double settled_bytes = kSettled * config.qp.mtu;
  if (window_bytes < std::max(3 * path_bytes, settled_bytes)) {
    const auto windows =
        2 + static_cast<std::uint64_t>(std::min(16.0, settled_bytes / std::max(window_bytes, 1.0)));
    return {windows * window_of(config), 2 * windows * window_of(config), {}, {}};
  }
  const auto trips = 2 + static_cast<std::int64_t>(settled_bytes / path_bytes);
  const Instant from = Instant{} + 3 * round_trip;
  return {0, 0, from, from + trips * round_trip};
}

namespace {

double steady_bps(Simulation& simulation, const SteadySpan& span, const Blast& blast) {
  if (span.end > 0) return blast.steady_bps();
  if (simulation.now() < span.to) return 0;
  const std::uint64_t bytes =
      simulation.host(0).counters().metered_payload + simulation.host(1).counters().metered_payload;
  return static_cast<double>(bytes) * 8e9 / static_cast<double>((span.to - span.from).count());
}

/// All messages of a run that is told how many, else until the steady rate is known.
void run(Simulation& simulation, const PerfConfig& config, const SteadySpan& span,
         const Blast& blast, std::uint64_t total) {
  const bool given = config.iterations > 0;
  const std::uint64_t enough = given || span.end == 0 ? total : span.end;
  while (blast.completed + blast.failed < enough) {
    if (!given && span.end == 0 && simulation.now() >= span.to) return;
    if (!simulation.advance()) return;
  }
}

}  // namespace

BandwidthResult run_bandwidth(const PerfConfig& config, const PerfHook& hook) {
  Simulation simulation;
  const PerfPair pair = connect(simulation, config);
  if (hook) hook(simulation);
  const SteadySpan span = steady_span(config);
  constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;
  const std::uint64_t total = config.iterations > 0 ? config.iterations * config.qps : kEndless;
  Blast blast(config, span, (total + config.qps - 1) / config.qps);
  pair.client->run(blast);
  for (Host* host : {pair.client, pair.server}) host->meter(span.from, span.to);
  blast.start(simulation, *pair.client);
  run(simulation, config, span, blast, total);
  BandwidthResult result{.messages = blast.completed,
                         .bytes = blast.completed * request_of(config).length,
                         .elapsed = blast.last - Instant{},
                         .steady_bps = steady_bps(simulation, span, blast),
                         .failed = blast.failed,
                         .events = simulation.events(),
                         .client = pair.client->counters(),
                         .server = pair.server->counters()};
  const auto ns = static_cast<double>(result.elapsed.count());
  result.average_bps = ns > 0 ? static_cast<double>(result.bytes) * 8e9 / ns : 0;
  for (std::uint32_t i = 0; i < config.qps; ++i) {
    const auto& counters = pair.client->qp(i).requester().counters();
    result.packets += counters.packets;
    result.retransmitted += counters.retransmitted;
    result.timeouts += counters.timeouts;
  }
  return result;
}

}  // namespace lw::sim
