// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/jobs.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <tuple>
#include <utility>

#include "sim/perf_setup.h"

namespace lw::sim {

using transport::Completion, transport::Status;

namespace {

/// What a rank waits for: the time of an event has this, its job and a rank or a transfer.
enum class Event : std::uint8_t { begin, communicate, post, end };

constexpr std::uint64_t tag_of(Event event, std::size_t job, std::uint32_t number) noexcept {
  return static_cast<std::uint64_t>(event) << 62 | std::uint64_t{job} << 32 | number;
}

}  // namespace

/// Messages of one rank to another on one channel.
struct Jobs::SendQueue {
  Job& job;
  Node host = 0;  // that sends
  std::uint32_t qp = 0;
  std::deque<std::uint32_t> ready;  // transfers that wait for room in the send queue
};

/// A job that runs. Each rank's state changes only at its host, and at the time of that.
struct Jobs::Job {
  Job(const JobConfig& job_config, std::size_t job_number, Network& of);

  void begin(std::uint32_t rank, Instant now);
  void communicate(std::uint32_t rank, Instant now);
  void post(std::uint32_t transfer, Instant now);
  void post_ready(SendQueue& queue, Instant now);
  void arrive(std::uint32_t transfer, std::uint32_t bytes, Instant now);
  void end_if_done(std::uint32_t rank, Instant now);
  void later(std::uint32_t rank, Event event, std::uint32_t number_, Instant at);
  [[nodiscard]] bool may_go(std::uint32_t transfer) const noexcept;
  void make_ready(std::uint32_t transfer, Instant now);

  struct Rank {
    std::vector<std::uint32_t> in, out;  // transfers
    bool communicates = false;           // in this iteration
    bool waits_for_end = false;          // of its computing
    std::size_t to_arrive = 0, to_post = 0;
    Instant computes_until;
    std::vector<Instant> began, ended;  // iterations

    [[nodiscard]] std::size_t iteration() const noexcept { return ended.size(); }
  };

  const JobConfig& config;
  const Schedule& schedule;
  std::size_t number;
  Network& network;
  Jobs* jobs = nullptr;
  std::vector<Rank> ranks;
  std::vector<std::vector<std::uint32_t>> next;  // transfers that wait for each
  std::vector<std::uint32_t> arrived;            // of each transfer: in so many iterations
  std::vector<SendQueue*> queue_of;
  std::deque<SendQueue> queues;
  std::uint64_t messages = 0, bytes = 0;
};

Jobs::Job::Job(const JobConfig& job_config, std::size_t job_number, Network& of)
    : config(job_config),
      schedule(job_config.schedule),
      number(job_number),
      network(of),
      ranks(job_config.ranks.size()),
      next(schedule.size()),
      arrived(schedule.size()) {
  for (std::uint32_t i = 0; i < schedule.size(); ++i) {
    ranks[schedule[i].from].out.push_back(i);
    ranks[schedule[i].to].in.push_back(i);
    for (const std::uint32_t before : schedule[i].after) next[before].push_back(i);
  }
}

void Jobs::Job::later(std::uint32_t rank, Event event, std::uint32_t of, Instant at) {
  network.host(config.ranks[rank]).call_later(*jobs, tag_of(event, number, of), at);
}

void Jobs::Job::begin(std::uint32_t rank, Instant now) {
  Rank& r = ranks[rank];
  r.began.push_back(now);
  r.computes_until = now + config.compute;
  r.waits_for_end = false;
  r.to_post = r.out.size();
  r.to_arrive = static_cast<std::size_t>(std::ranges::count_if(
      r.in, [&](std::uint32_t transfer) { return arrived[transfer] <= r.iteration(); }));
  const double alone = static_cast<double>(config.compute.count()) * (1 - config.overlap);
  if (alone < 1) return communicate(rank, now);
  later(rank, Event::communicate, rank, now + Duration{static_cast<std::int64_t>(alone)});
}

void Jobs::Job::communicate(std::uint32_t rank, Instant now) {
  ranks[rank].communicates = true;
  for (const std::uint32_t transfer : ranks[rank].out)
    if (may_go(transfer)) make_ready(transfer, now);
  end_if_done(rank, now);
}

/// All that it waits for has arrived in this iteration of its sender.
bool Jobs::Job::may_go(std::uint32_t transfer) const noexcept {
  const std::size_t iteration = ranks[schedule[transfer].from].iteration();
  return std::ranges::all_of(schedule[transfer].after,
                             [&](std::uint32_t before) { return arrived[before] > iteration; });
}

void Jobs::Job::make_ready(std::uint32_t transfer, Instant now) {
  if (config.step_overhead == Duration{}) return post(transfer, now);
  later(schedule[transfer].from, Event::post, transfer, now + config.step_overhead);
}

void Jobs::Job::post(std::uint32_t transfer, Instant now) {
  SendQueue& queue = *queue_of[transfer];
  queue.ready.push_back(transfer);
  post_ready(queue, now);
}

void Jobs::Job::post_ready(SendQueue& queue, Instant now) {
  while (!queue.ready.empty()) {
    const std::uint32_t transfer = queue.ready.front();
    const transport::WorkRequest request{
        .operation = wire::Operation::send,
        .immediate = true,
        .length = static_cast<std::uint32_t>(schedule[transfer].bytes),
        .word = transfer,
        .local_va = kPerfVa};
    if (!network.host(queue.host).post(queue.qp, request, now)) return;
    queue.ready.pop_front();
    --ranks[schedule[transfer].from].to_post;
    end_if_done(schedule[transfer].from, now);
  }
}

void Jobs::Job::arrive(std::uint32_t transfer, std::uint32_t length, Instant now) {
  ++messages;
  bytes += length;
  const std::uint32_t to = schedule[transfer].to;
  Rank& rank = ranks[to];
  const bool of_this =
      arrived[transfer]++ == rank.iteration() && rank.began.size() > rank.iteration();
  if (!of_this) return;  // its sender is ahead
  --rank.to_arrive;
  if (rank.communicates)
    for (const std::uint32_t each : next[transfer])
      if (may_go(each)) make_ready(each, now);
  end_if_done(to, now);
}

void Jobs::Job::end_if_done(std::uint32_t number_of, Instant now) {
  Rank& rank = ranks[number_of];
  if (!rank.communicates || rank.to_arrive > 0 || rank.to_post > 0) return;
  if (now < rank.computes_until) {
    if (!std::exchange(rank.waits_for_end, true))
      later(number_of, Event::end, number_of, rank.computes_until);
    return;
  }
  rank.communicates = false;
  rank.ended.push_back(now);
  if (rank.iteration() < config.repeat) begin(number_of, now);
}

std::uint64_t longest_message(const Schedule& schedule) noexcept {
  std::uint64_t most = 0;
  for (const JobMessage& each : schedule) most = std::max(most, each.bytes);
  return most;
}

Jobs::Jobs(const std::vector<JobConfig>& configs, const transport::QpConfig& qp, Network& network)
    : queues_(network.topology().hosts.size()) {
  transport::QpConfig receives = qp;
  receives.endless_receives = true;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    Job& job = *jobs_.emplace_back(std::make_unique<Job>(configs[i], i, network));
    job.jobs = this;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, SendQueue*> known;
    for (const JobMessage& each : job.schedule) {
      SendQueue*& queue = known[{each.from, each.to, each.channel}];
      if (queue == nullptr) {
        const Node from = configs[i].ranks[each.from], to = configs[i].ranks[each.to];
        const auto [here, there] = network.connect(from, to, receives);
        network.host(from).run(here, *this);
        network.host(to).run(there, *this);
        queue = &job.queues.emplace_back(SendQueue{job, from, here, {}});
        queues_[from][here] = queue;
        queues_[to][there] = queue;
        sending_qps_.emplace_back(from, here);
      }
      job.queue_of.push_back(queue);
    }
    for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
      job.later(rank, Event::begin, rank, Instant{} + configs[i].start);
  }
}

Jobs::~Jobs() = default;

void Jobs::on_completion(transport::QpSet& host, std::uint32_t qp, const Completion& done,
                         Instant now) {
  if (done.status != Status::success) {
    if (failed++ == 0) failure = failure_of(host, qp, done, now);
    return;
  }
  SendQueue& queue = *queues_[host.qp(qp).config().host].at(qp);
  if (done.arrival) return queue.job.arrive(done.word, done.length, now);
  queue.job.post_ready(queue, now);
}

void Jobs::on_time(transport::QpSet& /*host*/, std::uint64_t tag, Instant now) {
  Job& job = *jobs_[(tag >> 32) & 0x3fff'ffff];
  const auto number = static_cast<std::uint32_t>(tag);
  switch (static_cast<Event>(tag >> 62)) {
    case Event::begin:
      return job.begin(number, now);
    case Event::communicate:
      return job.communicate(number, now);
    case Event::post:
      return job.post(number, now);
    case Event::end:
      return job.end_if_done(number, now);
  }
}

bool Jobs::done() const noexcept {
  return failed > 0 || std::ranges::all_of(jobs_, [](const auto& job) {
           return std::ranges::all_of(job->ranks, [&](const Job::Rank& rank) {
             return rank.iteration() == job->config.repeat;
           });
         });
}

std::uint64_t Jobs::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& job : jobs_) sum += job->bytes;
  return sum;
}

std::vector<JobResult> Jobs::results() const {
  std::vector<JobResult> results;
  for (const auto& job : jobs_) {
    JobResult& result = results.emplace_back(
        JobResult{.iterations = {}, .messages = job->messages, .bytes = job->bytes});
    const std::size_t ended =
        std::ranges::min_element(job->ranks, {}, &Job::Rank::iteration)->iteration();
    for (std::size_t i = 0; i < ended; ++i) {
      IterationResult& at = result.iterations.emplace_back(
          IterationResult{.began = Instant::max(), .ended = Instant{}});
      for (std::uint32_t rank = 0; rank < job->ranks.size(); ++rank) {
        at.began = std::min(at.began, job->ranks[rank].began[i]);
        if (job->ranks[rank].ended[i] > at.ended) at.slowest = rank;
        at.ended = std::max(at.ended, job->ranks[rank].ended[i]);
      }
    }
  }
  return results;
}

}  // namespace lw::sim
