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

std::vector<Node> all_if_empty(std::vector<Node> some, std::size_t hosts) {
  if (!some.empty()) return some;
  some.resize(hosts);
  std::iota(some.begin(), some.end(), Node{0});
  return some;
}

/// Each sender gets a receiver of its own, as far as there are enough, and not itself.
std::vector<std::pair<Node, Node>> permutation_of(const std::vector<Node>& senders,
                                                  std::vector<Node> receivers,
                                                  const Chance& chance) {
  for (std::size_t i = receivers.size() - 1; i > 0; --i)
    std::swap(receivers[i],
              receivers[static_cast<std::size_t>(static_cast<double>(i + 1) * chance.uniform(i))]);
  std::vector<std::pair<Node, Node>> pairs;
  for (std::size_t i = 0; i < senders.size(); ++i) {
    const std::size_t place = i % receivers.size();
    if (receivers[place] == senders[i])
      std::swap(receivers[place], receivers[(place + 1) % receivers.size()]);
    if (receivers[place] != senders[i]) pairs.emplace_back(senders[i], receivers[place]);
  }
  return pairs;
}

double mean_size(const Sending& sending) noexcept {
  double bytes = 0, weights = 0;
  for (const SizeShare& size : sending.sizes) {
    bytes += size.bytes * size.weight;
    weights += size.weight;
  }
  return weights > 0 ? bytes / weights : 0;
}

}  // namespace

std::vector<std::pair<Node, Node>> pairs_of(const Sending& sending, std::size_t hosts,
                                            std::uint64_t seed) {
  const std::vector<Node> senders = all_if_empty(sending.senders, hosts);
  const Chance chance(seed, hash_name("permutation"));
  if (sending.pattern == SendPattern::permutation && !sending.receivers.empty())
    return permutation_of(senders, sending.receivers, chance);
  std::vector<std::pair<Node, Node>> pairs;
  if (sending.pattern == SendPattern::permutation) {
    const auto order = cycle_of(hosts, chance);
    for (const Node from : senders) pairs.emplace_back(from, order[from]);
    return pairs;
  }
  const std::vector<Node> receivers = all_if_empty(sending.receivers, hosts);
  for (const Node from : senders)
    for (const Node to : receivers)
      if (to != from) pairs.emplace_back(from, to);
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
  for (Node host = 0; host < hosts; ++host) network.host(host).run(*this);
  for (std::uint32_t i = 0; i < config.sendings.size(); ++i) add_senders(i, hosts);
}

/// Adds the senders of a sending, each with its pairs and the time of its first start.
void Workload::add_senders(std::uint32_t number, std::size_t hosts) {
  const Sending& sending = config_.sendings[number];
  const auto first = static_cast<std::uint32_t>(senders_.size());
  for (const auto& [from, to] : pairs_of(sending, hosts, perf_.path.seed)) {
    if (senders_.size() == first || senders_.back().host != from)
      senders_.push_back({from, number, {}});
    senders_.back().pairs.push_back(static_cast<std::uint32_t>(pairs_.size()));
    pairs_.push_back({from, to, number, {}});
  }
  const auto within = static_cast<double>(sending.start_within.count());
  for (std::uint32_t i = first; i < senders_.size(); ++i) {
    const Duration wait{static_cast<std::int64_t>(within * chance_.uniform(i, kFirst))};
    const Duration gap_before = sending.load > 0 ? gap(i, 0) : Duration{};
    starts_.push({Instant{} + sending.start + wait + gap_before, i, 0});
  }
}

/// Adds a QP at both ends. Returns its number at the sender.
std::uint32_t Workload::add_qp(Node from, Node to) {
  transport::QpConfig qp = perf_.qp;
  qp.endless_receives = perf_.receives == 0;
  const std::uint32_t here = network_.connect(from, to, qp).first;
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
    if (sending_of(senders_[start.sender]).load == 0) {
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
  const Sending& sending = sending_of(sender);
  std::vector<std::uint32_t> begun;
  for (const std::uint32_t number : sender.pairs) {
    const Pair& pair = pairs_[number];
    for (std::uint32_t i = 0; i < sending.qps; ++i) {
      const std::uint32_t qp = add_qp(pair.from, pair.to);
      const auto flow = static_cast<std::uint32_t>(flows_.size());
      flows_.push_back({.from = pair.from, .to = pair.to, .started = now});
      left_.push_back(sending.messages > 0 ? sending.messages : kEndless);
      waiting_.push_back(0);
      flow_of_[pair.from][qp] = flow;
      pair_of_[pair.from][qp] = number;
      latencies_.resize(std::min<std::size_t>(flow + 1, kMostLatencies));
      begun.push_back(qp);
    }
  }
  for (const std::uint32_t qp : begun) {
    const std::uint32_t flow = flow_of_[sender.host][qp];
    for (; left_[flow] > 0 && post(sender.host, qp, size_of(sending), now); --left_[flow])
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
  const Sending& sending = sending_of(senders_[sender]);
  const double rate =
      sending.load * network_.host_rate_bps(host) / (8 * mean_size(sending));  // flows/s
  const double uniform = chance_.uniform((number << 20) + sender, kGap);
  return Duration{static_cast<std::int64_t>(-std::log1p(-uniform) / rate * 1e9)};
}

std::uint32_t Workload::draw_size(std::uint64_t number, std::uint32_t sender) const {
  const Sending& sending = sending_of(senders_[sender]);
  double weights = 0;
  for (const SizeShare& size : sending.sizes) weights += size.weight;
  double place = chance_.uniform((number << 20) + sender, kSize) * weights;
  for (const SizeShare& size : sending.sizes) {
    if (place < size.weight) return size.bytes;
    place -= size.weight;
  }
  return sending.sizes.back().bytes;
}

void Workload::on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                             Instant now) {
  if (done.arrival) return;
  if (done.status != Status::success) return failures.add(failure_of(host, qp, done, now));
  const Node from = host.qp(qp).config().host;
  const std::uint32_t number = flow_of_[from][qp];
  FlowResult& flow = flows_[number];
  flow.bytes += done.length;
  completed_bytes_.fetch_add(done.length, std::memory_order_relaxed);
  flow.ended = now;
  --waiting_[number];
  const Sending& sending = config_.sendings[pairs_[pair_of_[from][qp]].sending];
  if (sending.load == 0 && number < latencies_.size())
    latencies_[number].add((now - done.posted).count());
  if (left_[number] > 0) {
    if (post(from, qp, size_of(sending), now)) {
      --left_[number];
      ++waiting_[number];
    }
  } else if (waiting_[number] == 0) {
    flow.finished = true;
    ended_.fetch_add(1, std::memory_order_relaxed);
    if (sending.load > 0) pairs_[pair_of_[from][qp]].idle.push_back(qp);
  }
}

}  // namespace lw::sim
