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
  const double round_trip =
      2e-9 * static_cast<double>((config.path.one_way + 2 * config.nic.latency).count());
  const double bytes = 3 * round_trip * config.nic.rate_bps / 8;
  const auto filling = static_cast<std::uint64_t>(bytes / std::max(config.size, 1u)) + 16;
  // A whole window repeats itself; where the line is the limit, any stretch is like another.
  const std::uint64_t span = std::min(window_of(config), filling);
  return {span, 2 * span};
}

BandwidthResult run_bandwidth(const PerfConfig& config, const PerfHook& hook) {
  Simulation simulation;
  const PerfPair pair = connect(simulation, config);
  if (hook) hook(simulation);
  const SteadySpan span = steady_span(config);
  const bool given = config.iterations > 0;
  const std::uint64_t total = given ? config.iterations * config.qps : span.end + window_of(config);
  Blast blast(config, span, (total + config.qps - 1) / config.qps);
  pair.client->run(blast);
  blast.start(simulation, *pair.client);
  const std::uint64_t enough = given ? total : span.end;
  while (blast.completed + blast.failed < enough && simulation.advance()) {
  }
  BandwidthResult result{.messages = blast.completed,
                         .bytes = blast.completed * request_of(config).length,
                         .elapsed = blast.last - Instant{},
                         .steady_bps = blast.steady_bps(),
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
