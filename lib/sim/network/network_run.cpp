// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/network_run.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/network/deadlock.h"
#include "sim/perf_setup.h"

namespace lw::sim {
namespace {

double seconds(Duration time) noexcept { return static_cast<double>(time.count()) * 1e-9; }

PortCounters difference(const PortCounters& now, const PortCounters& before) noexcept {
  return {.sent = now.sent - before.sent,
          .sent_wire_bytes = now.sent_wire_bytes - before.sent_wire_bytes,
          .marked = now.marked - before.marked,
          .dropped = now.dropped - before.dropped,
          .most_bytes = now.most_bytes,
          .byte_seconds = now.byte_seconds - before.byte_seconds,
          .pauses_sent = now.pauses_sent - before.pauses_sent,
          .paused = now.paused - before.paused};
}

/// The share of a cable's rate that was used. Times are whole nanoseconds, so the quotient may be
/// above 1 by a millionth.
double share_of(const PortCounters& part, double rate_bps, Duration time) noexcept {
  return std::min(1.0, part.sent_wire_bytes * 8 / (rate_bps * seconds(time)));
}

/// The memory of each host: as large as the largest message.
transport::Memory memory_for(const NetworkRunConfig& config) {
  perf::PerfConfig largest = config.perf;
  for (const Sending& sending : config.workload.sendings) {
    if (sending.size > 0) largest.size = std::max(largest.size, sending.size);
    for (const SizeShare& size : sending.sizes) largest.size = std::max(largest.size, size.bytes);
  }
  for (const JobConfig& job : config.jobs)
    largest.size =
        std::max(largest.size, static_cast<std::uint32_t>(longest_message(job.schedule)));
  return memory_of(largest);
}

MessageTimes latency_of(const CompactHistogram& times) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
  return {.messages = times.count(),
          .p50_us = us(times.quantile(0.5)),
          .p99_us = us(times.quantile(0.99)),
          .most_us = us(times.maximum())};
}

class NetworkRun {
 public:
  NetworkRun(const NetworkRunConfig& config, const NetworkHook& hook)
      : config_(config),
        network_(config.topology, config.perf.nic, memory_for(config), config.perf.qp.mtu,
                 config.perf.path.seed),
        workload_(config.workload, config.perf, network_),
        jobs_(config.jobs, config.perf.qp, network_) {
    add_ports();
    if (hook) hook(network_);
    network_.run_on(config.threads);
  }
  NetworkResult result(const NetworkProgress& progress);

 private:
  void add_ports();
  void run_until(Instant until);
  void run_past_warm_up(Instant until);
  void sample(Instant at);
  void end_warm_up();
  [[nodiscard]] double share_done(Instant at) const noexcept;
  void finish_ports();
  void finish_flows();
  void advance(Instant until);
  void look_for_deadlocks();
  void count_qps();
  [[nodiscard]] std::uint64_t completed_bytes() const noexcept {
    return workload_.completed_bytes() + jobs_.bytes();
  }
  [[nodiscard]] bool done() const noexcept { return workload_.done() && jobs_.done(); }
  static constexpr Duration kBetweenLooks = std::chrono::milliseconds(1);
  [[nodiscard]] Switch& switch_of(const PortResult& port) { return network_.switch_at(port.node); }
  [[nodiscard]] PortCounters counters(std::size_t port) {
    return switch_of(result_.ports[port]).counters(numbers_[port], network_.now());
  }

  const NetworkRunConfig& config_;
  Network network_;
  Workload workload_;
  Jobs jobs_;  // after it, which runs all QPs that it finds
  NetworkResult result_;
  std::vector<std::uint16_t> numbers_;  // of the results' ports at their switch
  std::vector<PortCounters> sampled_, warm_;
  std::vector<std::uint64_t> peaks_;               // after the warm-up
  std::vector<std::uint64_t> peaks_before_;        // in the part of an interval before its end
  Instant next_look_ = Instant{} + kBetweenLooks;  // for deadlocks
  bool warmed_ = false;
  Instant warm_at_;
  std::vector<std::uint64_t> warm_bytes_;  // of each flow
  std::uint64_t warm_total_ = 0;
};

void NetworkRun::add_ports() {
  const auto ports = ports_of(config_.topology);
  for (std::size_t node = config_.topology.hosts.size(); node < config_.topology.nodes(); ++node) {
    for (std::uint16_t i = 0; i < ports[node].size(); ++i) {
      const PortEnd& end = ports[node][i];
      result_.ports.push_back({.node = static_cast<Node>(node), .to = end.to, .cable = end.cable});
      numbers_.push_back(i);
    }
  }
  sampled_.resize(numbers_.size());
  warm_.resize(numbers_.size());
  peaks_.resize(numbers_.size());
  peaks_before_.resize(numbers_.size());
}

void NetworkRun::run_until(Instant until) {
  for (Instant at = workload_.next_start(); at <= until; at = workload_.next_start()) {
    advance(at);
    workload_.start(at);
  }
  advance(until);
}

/// Looks for deadlocks each millisecond on the way: QPs that fail may let a network go on later.
void NetworkRun::advance(Instant until) {
  for (; next_look_ <= until; next_look_ += kBetweenLooks) {
    network_.run_until(next_look_);
    look_for_deadlocks();
  }
  network_.run_until(until);
}

void NetworkRun::run_past_warm_up(Instant until) {
  const Instant warm = Instant{} + config_.warm_up;
  if (!warmed_ && warm <= until) {
    run_until(warm);
    end_warm_up();
    warmed_ = true;
  }
  run_until(until);
}

void NetworkRun::sample(Instant at) {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const PortResult& port = result_.ports[i];
    const PortCounters now = counters(i), part = difference(now, sampled_[i]);
    const double rate = config_.topology.cables[port.cable].rate_bps;
    result_.samples.push_back({.at = at,
                               .port = static_cast<std::uint32_t>(i),
                               .utilization = share_of(part, rate, config_.sample),
                               .most_bytes = std::max(now.most_bytes, peaks_before_[i]),
                               .marked = part.marked,
                               .dropped = part.dropped,
                               .paused = part.paused});
    peaks_[i] = std::max(peaks_[i], now.most_bytes);
    std::uint64_t& most = result_.ports[i].all.most_bytes;
    most = std::max({most, now.most_bytes, peaks_before_[i]});
    peaks_before_[i] = 0;
    sampled_[i] = now;
    switch_of(port).clear_peak(numbers_[i]);
  }
}

void NetworkRun::end_warm_up() {
  warm_at_ = network_.now();
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    warm_[i] = counters(i);
    peaks_before_[i] = warm_[i].most_bytes;
    switch_of(result_.ports[i]).clear_peak(numbers_[i]);
    peaks_[i] = switch_of(result_.ports[i]).queued_bytes(numbers_[i]);
  }
  for (const FlowResult& flow : workload_.flows()) warm_bytes_.push_back(flow.bytes);
  warm_total_ = completed_bytes();
  workload_.forget_latencies();
}

NetworkResult NetworkRun::result(const NetworkProgress& progress) {
  const Instant end = Instant{} + config_.perf.duration;
  for (Instant at = Instant{} + config_.sample; at <= end && !done(); at += config_.sample) {
    run_past_warm_up(at);
    sample(at);
    if (progress) progress(share_done(at));
    if (config_.perf.stopped()) {
      result_.stopped = true;
      break;
    }
  }
  // What is left when the duration is no multiple of the interval.
  if (!result_.stopped && !done()) run_past_warm_up(end);
  if (!warmed_) end_warm_up();
  result_.elapsed = network_.now() - Instant{};
  finish_ports();
  finish_flows();
  look_for_deadlocks();
  result_.events = network_.events();
  return std::move(result_);
}

/// Of the bytes of jobs, which end a run before its time, or else of the time.
double NetworkRun::share_done(Instant at) const noexcept {
  if (!config_.jobs.empty()) return jobs_.share();
  return static_cast<double>((at - Instant{}).count()) /
         static_cast<double>(config_.perf.duration.count());
}

void NetworkRun::finish_ports() {
  const double time = seconds(network_.now() - warm_at_);
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    PortResult& port = result_.ports[i];
    const std::uint64_t most = port.all.most_bytes;
    port.all = counters(i);
    port.late = difference(port.all, warm_[i]);
    port.late.most_bytes = std::max(peaks_[i], port.all.most_bytes);  // the rest of an interval
    port.all.most_bytes = std::max(most, port.all.most_bytes);
    if (time <= 0) continue;
    const double rate = config_.topology.cables[port.cable].rate_bps;
    port.utilization = share_of(port.late, rate, network_.now() - warm_at_);
    port.mean_bytes = port.late.byte_seconds / time;
  }
}

void NetworkRun::finish_flows() {
  const double time = seconds(network_.now() - warm_at_);
  result_.flows = workload_.flows();
  if (time > 0) result_.total_bps = static_cast<double>(completed_bytes() - warm_total_) * 8 / time;
  if (!config_.workload.random() && time > 0) {
    for (std::size_t i = 0; i < result_.flows.size(); ++i) {
      const std::uint64_t before = i < warm_bytes_.size() ? warm_bytes_[i] : 0;
      result_.flow_bps.push_back(static_cast<double>(result_.flows[i].bytes - before) * 8 / time);
    }
  }
  for (std::size_t i = 0; workload_.latencies(i); ++i)
    result_.flow_latency.push_back(latency_of(*workload_.latencies(i)));
  count_qps();
  std::map<std::uint64_t, std::vector<std::pair<double, double>>> by_size;  // us, slowdown
  for (const FlowResult& flow : result_.flows) {
    if (!flow.finished) continue;
    const double us = seconds(flow.ended - flow.started) * 1e6;
    const Duration alone = alone_time(network_, config_.perf, flow.from, flow.to, flow.bytes);
    by_size[flow.bytes].emplace_back(us, us / (seconds(alone) * 1e6));
  }
  for (auto& [bytes, times] : by_size) {
    std::ranges::sort(times);
    std::vector<double> slow;
    double sum = 0;
    for (const auto& [us, slowdown] : times) {
      sum += us;
      slow.push_back(slowdown);
    }
    std::ranges::sort(slow);
    const std::size_t n = times.size();
    const auto at = [&](double share) {
      return std::min(n - 1, static_cast<std::size_t>(share * static_cast<double>(n)));
    };
    const auto count = static_cast<double>(n);
    result_.sizes.push_back(
        {.bytes = bytes,
         .flows = n,
         .mean_us = sum / count,
         .p50_us = times[at(0.5)].first,
         .p99_us = times[at(0.99)].first,
         .most_us = times.back().first,
         .mean_slowdown = std::accumulate(slow.begin(), slow.end(), 0.0) / count,
         .p99_slowdown = slow[at(0.99)]});
  }
}

void NetworkRun::count_qps() {
  for (const auto* qps : {&workload_.sending_qps(), &jobs_.sending_qps()})
    for (const auto& [host, qp] : *qps) {
      const auto& counters = network_.host(host).qp(qp).requester().counters();
      result_.packets += counters.packets;
      result_.retransmitted += counters.retransmitted;
      result_.timeouts += counters.timeouts;
    }
  for (Node host = 0; host < config_.topology.hosts.size(); ++host) {
    Host& at = network_.host(host);
    for (std::uint32_t qp = 0; qp < at.qps(); ++qp) result_.cnps += at.qp(qp).cnps_sent();
    result_.hosts_paused += network_.host_paused(host);
  }
  result_.jobs = jobs_.results();
  result_.failed = workload_.failures.count() + jobs_.failures.count();
  result_.failure =
      workload_.failures.first() ? workload_.failures.first() : jobs_.failures.first();
}

/// Adds the deadlocks of now that are not known yet.
void NetworkRun::look_for_deadlocks() {
  for (const Deadlock& found : deadlocks_of(network_)) {
    DeadlockResult added{{}, found.since};
    for (const SwitchPort& at : found.cycle)
      for (std::uint32_t i = 0; i < numbers_.size(); ++i)
        if (result_.ports[i].node == at.node && numbers_[i] == at.port) added.ports.push_back(i);
    const bool known = std::ranges::any_of(result_.deadlocks, [&](const DeadlockResult& each) {
      return std::ranges::is_permutation(each.ports, added.ports);
    });
    if (!known) result_.deadlocks.push_back(std::move(added));
  }
}

std::uint64_t sum_of(const std::vector<PortResult>& ports, auto member) noexcept {
  std::uint64_t sum = 0;
  for (const PortResult& port : ports) sum += member(port);
  return sum;
}

}  // namespace

std::optional<double> NetworkResult::fairness() const noexcept {
  double sum = 0, squares = 0;
  for (const double rate : flow_bps) {
    sum += rate;
    squares += rate * rate;
  }
  if (squares <= 0) return std::nullopt;
  return sum * sum / (static_cast<double>(flow_bps.size()) * squares);
}

std::uint64_t NetworkResult::dropped() const noexcept {
  return sum_of(ports, [](const PortResult& port) { return port.all.dropped; });
}
std::uint64_t NetworkResult::late_dropped() const noexcept {
  return sum_of(ports, [](const PortResult& port) { return port.late.dropped; });
}
std::uint64_t NetworkResult::marked() const noexcept {
  return sum_of(ports, [](const PortResult& port) { return port.all.marked; });
}

/// The last packet leaves the sender after all before it; at each further cable, it takes its own
/// time again, or, at a slower one, waits for those before it. The ACK takes the same way back.
Duration alone_time(const Network& network, const perf::PerfConfig& perf, Node from, Node to,
                    std::uint64_t bytes) {
  const std::uint32_t packets = transport::packets_of(bytes, perf.qp.mtu);
  transport::Packet data;
  data.opcode = transport::OpcodeSet(perf.qp.transport).of(perf.operation, wire::Position::middle);
  data.payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, perf.qp.mtu));
  const double full = transport::wire_bytes(data) * 8.0;
  constexpr double kAckBits = 84 * 8;
  double ns = 0, slowest = 0;
  for (const CableConfig* cable : network.way(from, to)) {
    const double per_bit = 1e9 / cable->rate_bps;
    ns += (full + kAckBits) * per_bit + 2 * static_cast<double>(cable->delay.count());
    slowest = std::max(slowest, per_bit);
  }
  ns += full * slowest * (packets - 1) + 2 * network.latency_ns(from, to);
  return Duration{static_cast<std::int64_t>(ns)};
}

NetworkResult run_network(const NetworkRunConfig& config, const NetworkHook& hook,
                          const NetworkProgress& progress) {
  return NetworkRun(config, hook).result(progress);
}

}  // namespace lw::sim
