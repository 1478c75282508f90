// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/jobs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/perf_setup.h"

namespace lw::sim {

using transport::Completion, transport::Packet, transport::Status;

namespace {

/// The first of the shortest ways between two hosts.
SendWay way_between(const Network& network, Node from, Node to, std::uint32_t mtu) {
  constexpr double kNsPerByte = 8e9;  // at 1 b/s
  SendWay way{.mtu = mtu};
  Duration delay{};
  for (const CableConfig* cable : network.way(from, to)) {
    const double ns = kNsPerByte / cable->rate_bps;
    if (way.sender_ns == 0) {
      way.sender_ns = ns;
    } else {
      way.further_ns += ns;
    }
    way.slowest_ns = std::max(way.slowest_ns, ns);
    delay += cable->delay;
  }
  way.delay = delay + Duration{static_cast<std::int64_t>(network.latency_ns(from, to))};
  return way;
}

/// No packet is on its way, no host has anything to do, and no switch has anything to send.
bool is_idle(Network& network) {
  const Topology& topology = network.topology();
  for (Node host = 0; host < topology.hosts.size(); ++host)
    if (network.host(host).next_at() != Instant::max()) return false;
  for (auto node = static_cast<Node>(topology.hosts.size()); node < topology.nodes(); ++node)
    for (std::uint16_t port = 0; port < network.switch_at(node).ports(); ++port)
      if (network.switch_at(node).queued_bytes(port) > 0) return false;
  for (std::uint32_t cable = 0; cable < topology.cables.size(); ++cable)
    for (const bool forward : {true, false})
      if (network.link(cable, forward).next_at() != Instant::max()) return false;
  return true;
}

}  // namespace

std::uint64_t longest_message(const Schedule& schedule) noexcept {
  std::uint64_t most = 0;
  for (const JobMessage& each : schedule) most = std::max(most, each.bytes);
  return most;
}

Jobs::Jobs(const std::vector<JobConfig>& configs, const transport::QpConfig& qp, Network& network)
    : network_(network), queues_(network.topology().hosts.size()) {
  transport::QpConfig receives = qp;
  receives.endless_receives = true;
  for (const JobConfig& config : configs) {
    RunningJob& job =
        *jobs_.emplace_back(std::make_unique<RunningJob>(config, jobs_.size(), network, *this));
    add_queues(job, receives, network);
    job.start();
  }
  if (!crossing_.empty())
    network.on_window = [this] {
      for (auto* queue : crossing_) RunningJob::hand_over(*queue);
    };
}

/// A QP for all messages of a rank to another on a channel.
void Jobs::add_queues(RunningJob& job, const transport::QpConfig& qp, Network& network) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, RunningJob::SendQueue*> known;
  const Schedule& schedule = job.config().schedule;
  for (std::uint32_t i = 0; i < schedule.size(); ++i) {
    const JobMessage& each = schedule[i];
    RunningJob::SendQueue*& queue = known[{each.from, each.to, each.channel}];
    if (queue == nullptr) {
      const Node from = job.config().ranks[each.from], to = job.config().ranks[each.to];
      queue = &job.add_queue(each.from, way_between(network, from, to, qp.mtu));
      connect(*queue, to, qp, network);
    }
    job.set_queue(i, *queue);
  }
}

void Jobs::connect(RunningJob::SendQueue& queue, Node to, const transport::QpConfig& qp,
                   Network& network) {
  Host &sender = network.host(queue.host), &receiver = network.host(to);
  const auto [here, there] = network.connect(queue.host, to, qp);
  queue.qp = here;
  queue.crosses = network.part_of(queue.host) != network.part_of(to);
  if (queue.crosses) crossing_.push_back(&queue);
  sender.run(here, *this);
  receiver.run(there, *this);
  for (const auto& [host, number] : {std::pair{queue.host, here}, std::pair{to, there}}) {
    if (queues_[host].size() <= number) queues_[host].resize(number + 1);
    queues_[host][number] = &queue;
  }
  sending_qps_.emplace_back(queue.host, here);
  sender.on_send = [this, &sender](std::uint32_t qp_number, const Packet& packet, Instant now) {
    watch(sender, qp_number, packet, now);
  };
}

/// Passes on the requests that a job's QP sends: not ACKs, and not the packets of other QPs.
void Jobs::watch(Host& host, std::uint32_t qp, const Packet& packet, Instant now) {
  const auto& queues = queues_[host.number()];
  if (qp >= queues.size() || queues[qp] == nullptr || !transport::is_request(packet.opcode)) return;
  RunningJob::left(*queues[qp], packet, host.qp(qp), now);
}

Jobs::~Jobs() = default;

void Jobs::on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                         Instant now) {
  if (done.status != Status::success) return failures.add(failure_of(host, qp, done, now));
  RunningJob::SendQueue& queue = *queues_[host.qp(qp).config().host][qp];
  if (done.arrival) return queue.job.arrive(queue, done.word, done.length, now);
  queue.job.complete(queue, now);
}

void Jobs::on_time(transport::QpSet& /*host*/, std::uint64_t tag, Instant now) {
  jobs_[RunningJob::job_of(tag)]->on_event(RunningJob::event_of(tag),
                                           static_cast<std::uint32_t>(tag), now);
}

bool Jobs::done() const noexcept {
  return failures.count() > 0 ||
         std::ranges::all_of(jobs_, [](const auto& job) { return job->done(); });
}

std::uint64_t Jobs::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& job : jobs_) sum += job->bytes();
  return sum;
}

double Jobs::share() const noexcept {
  double all = 0;
  for (const auto& job : jobs_) all += static_cast<double>(job->all_bytes());
  return all > 0 ? static_cast<double>(bytes()) / all : 1;
}

std::vector<JobResult> Jobs::results() const {
  const bool idle = failures.count() == 0 && !done() && is_idle(network_);
  std::vector<JobResult> results;
  for (const auto& job : jobs_) {
    results.push_back(job->result());
    if (idle) results.back().stuck = job->unanswered();
  }
  return results;
}

}  // namespace lw::sim
