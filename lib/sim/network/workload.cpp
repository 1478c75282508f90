// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/workload.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/perf_setup.h"

namespace lw::sim {

using transport::Completion;
using transport::Status;

namespace {

enum WorkloadDraw : std::uint64_t { kFirst, kGap, kReceiver, kSize };  // of a sender

/// Returns a permutation of n >= 2 hosts in which none is at its own place: one cycle (Sattolo).
std::vector<Node> cycle_of(std::size_t n, const Chance& chance) {
  std::vector<Node> order(n);
  std::iota(order.begin(), order.end(), Node{0});
  for (std::size_t i = n - 1; i > 0; --i) {
    const auto j = static_cast<std::size_t>(static_cast<double>(i) * chance.uniform(i));
    std::swap(order[i], order[j]);
  }
  return order;
}

}  // namespace

std::vector<std::pair<Node, Node>> pairs_of(const WorkloadConfig& config, std::size_t hosts,
                                            std::uint64_t seed) {
  std::vector<std::pair<Node, Node>> pairs;
  std::vector<Node> senders = config.senders;
  if (senders.empty()) {
    senders.resize(hosts);
    std::iota(senders.begin(), senders.end(), Node{0});
  }
  const auto order = cycle_of(hosts, Chance(seed, hash_name("permutation")));
  for (const Node from : senders) {
    if (config.pattern == SendPattern::incast) {
      if (from != *config.receiver) pairs.emplace_back(from, *config.receiver);
    } else if (config.pattern == SendPattern::permutation) {
      pairs.emplace_back(from, order[from]);
    } else {
      for (Node to = 0; to < hosts; ++to)
        if (to != from) pairs.emplace_back(from, to);
    }
  }
  return pairs;
}

Workload::Workload(const WorkloadConfig& config, const perf::PerfConfig& perf, Network& network)
    : config_(config),
      perf_(perf),
      network_(network),
      chance_(perf.path.seed, hash_name("workload")),
      flow_of_(network.topology().hosts.size()),
      pair_of_(network.topology().hosts.size()) {
  const std::size_t hosts = network.topology().hosts.size();
  double weights = 0;
  for (const SizeShare& size : config.sizes) {
    mean_size_ += size.bytes * size.weight;
    weights += size.weight;
  }
  if (weights > 0) mean_size_ /= weights;
  for (Node host = 0; host < hosts; ++host) network.host(host).run(*this);
  for (const auto& [from, to] : pairs_of(config, hosts, perf.path.seed)) {
    if (senders_.empty() || senders_.back().host != from) senders_.push_back({from, {}});
    senders_.back().pairs.push_back(static_cast<std::uint32_t>(pairs_.size()));
    pairs_.push_back({from, to, {}});
  }
  const auto within = static_cast<double>(config.start_within.count());
  for (std::uint32_t i = 0; i < senders_.size(); ++i) {
    const Duration wait{static_cast<std::int64_t>(within * chance_.uniform(i, kFirst))};
    const Duration first = config.load > 0 ? gap(i, 0) : Duration{};
    starts_.push({Instant{} + wait + first, i, 0});
  }
}

/// Adds a QP at both ends. Returns its number at the sender.
std::uint32_t Workload::add_qp(Node from, Node to) {
  Host &sender = network_.host(from), &receiver = network_.host(to);
  const auto here = static_cast<std::uint32_t>(sender.qps());
  const auto there = static_cast<std::uint32_t>(receiver.qps());
  transport::QpConfig qp = perf_.qp;
  qp.endless_receives = perf_.receives == 0;
  qp.dest_host = to;
  qp.dest_qpn = Host::qpn_of(there);
  sender.add_qp(qp);
  qp.dest_host = from;
  qp.dest_qpn = Host::qpn_of(here);
  receiver.add_qp(qp);
  for (const Node host : {from, to}) {
    flow_of_[host].resize(network_.host(host).qps(), kNoFlow);
    pair_of_[host].resize(network_.host(host).qps(), kNoFlow);
  }
  sending_qps_.emplace_back(from, here);
  return here;
}

Instant Workload::next_start() const noexcept {
  return starts_.empty() ? Instant::max() : starts_.top().at;
}

void Workload::start(Instant now) {
  while (!starts_.empty() && starts_.top().at <= now) {
    const Start start = starts_.top();
    starts_.pop();
    if (config_.load == 0) {
      start_full(senders_[start.sender], now);
    } else {
      start_flow(start, now);
      starts_.push(
          {start.at + gap(start.sender, start.number + 1), start.sender, start.number + 1});
    }
  }
}

bool Workload::post(Node host, std::uint32_t qp, std::uint32_t size, Instant now) {
  transport::WorkRequest request = request_of(perf_);
  request.length = size;
  return network_.host(host).post(qp, request, now);
}

/// Starts the QPs of all pairs of a sender, and fills their send queues.
void Workload::start_full(const Sender& sender, Instant now) {
  constexpr std::uint64_t kEndless = ~std::uint64_t{0};
  for (const std::uint32_t number : sender.pairs) {
    const Pair& pair = pairs_[number];
    for (std::uint32_t i = 0; i < config_.qps; ++i) {
      const std::uint32_t qp = add_qp(pair.from, pair.to);
      const auto flow = static_cast<std::uint32_t>(flows_.size());
      flows_.push_back({.from = pair.from, .to = pair.to, .started = now});
      left_.push_back(config_.messages > 0 ? config_.messages : kEndless);
      waiting_.push_back(0);
      flow_of_[pair.from][qp] = flow;
      if (latencies_.size() < kMostLatencies) latencies_.emplace_back();
    }
  }
  for (std::uint32_t qp = 0; qp < flow_of_[sender.host].size(); ++qp) {
    const std::uint32_t flow = flow_of_[sender.host][qp];
    if (flow == kNoFlow || flows_[flow].from != sender.host) continue;
    for (; left_[flow] > 0 && post(sender.host, qp, perf_.size, now); --left_[flow])
      ++waiting_[flow];
  }
}

/// A flow of one message, on a QP that is idle.
void Workload::start_flow(const Start& start, Instant now) {
  const Sender& sender = senders_[start.sender];
  const std::uint64_t draw = (start.number << 20) + start.sender;
  const double place = chance_.uniform(draw, kReceiver) * static_cast<double>(sender.pairs.size());
  const std::uint32_t number = sender.pairs[static_cast<std::size_t>(place)];
  Pair& pair = pairs_[number];
  if (pair.idle.empty()) pair.idle.push_back(add_qp(pair.from, pair.to));
  const std::uint32_t qp = pair.idle.back();
  pair.idle.pop_back();
  flow_of_[pair.from][qp] = static_cast<std::uint32_t>(flows_.size());
  pair_of_[pair.from][qp] = number;
  flows_.push_back({.from = pair.from, .to = pair.to, .started = now});
  left_.push_back(0);
  waiting_.push_back(1);
  post(pair.from, qp, draw_size(start.number, start.sender), now);
}

Duration Workload::gap(std::uint32_t sender, std::uint64_t number) const noexcept {
  const Node host = senders_[sender].host;
  const double rate = config_.load * network_.host_rate_bps(host) / (8 * mean_size_);  // flows/s
  const double uniform = chance_.uniform((number << 20) + sender, kGap);
  return Duration{static_cast<std::int64_t>(-std::log1p(-uniform) / rate * 1e9)};
}

std::uint32_t Workload::draw_size(std::uint64_t number, std::uint32_t sender) const {
  double weights = 0;
  for (const SizeShare& size : config_.sizes) weights += size.weight;
  double place = chance_.uniform((number << 20) + sender, kSize) * weights;
  for (const SizeShare& size : config_.sizes) {
    if (place < size.weight) return size.bytes;
    place -= size.weight;
  }
  return config_.sizes.back().bytes;
}

void Workload::on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                             Instant now) {
  if (done.arrival) return;
  if (done.status != Status::success) {
    if (failed++ == 0) failure = failure_of(host, qp, done, now);
    return;
  }
  const Node from = host.qp(qp).config().host;
  const std::uint32_t number = flow_of_[from][qp];
  FlowResult& flow = flows_[number];
  flow.bytes += done.length;
  flow.ended = now;
  --waiting_[number];
  if (number < latencies_.size()) latencies_[number].add((now - done.posted).count());
  if (left_[number] > 0) {
    if (post(from, qp, perf_.size, now)) {
      --left_[number];
      ++waiting_[number];
    }
  } else if (waiting_[number] == 0) {
    flow.finished = true;
    ++ended_;
    if (config_.load > 0) pairs_[pair_of_[from][qp]].idle.push_back(qp);
  }
}

}  // namespace lw::sim
