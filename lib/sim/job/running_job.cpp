// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/running_job.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/perf_setup.h"

namespace lw::sim {

using transport::Packet;

RunningJob::RunningJob(const JobConfig& config, std::size_t number, Network& network,
                       transport::Application& application)
    : config_(config),
      schedule_(config.schedule),
      number_(number),
      network_(network),
      application_(application),
      ranks_(config.ranks.size()),
      next_(schedule_.size()),
      arrived_(schedule_.size()),
      step_(steps_of(schedule_)),
      queue_of_(schedule_.size()) {
  for (std::uint32_t i = 0; i < schedule_.size(); ++i) {
    all_bytes_ += schedule_[i].bytes * config.repeat;
    ranks_[schedule_[i].from].out.push_back(i);
    ranks_[schedule_[i].to].in.push_back(i);
    for (const std::uint32_t before : schedule_[i].after) next_[before].push_back(i);
  }
  const std::uint32_t steps = step_.empty() ? 0 : *std::ranges::max_element(step_);
  result_.steps.resize(std::min<std::size_t>(steps, JobResult::kMostSteps));
  timeline_.resize(std::min(schedule_.size(), JobResult::kMostTimeline));
}

RunningJob::SendQueue& RunningJob::add_queue(std::uint32_t from, const SendWay& way) {
  SendQueue& queue = queues_.emplace_back(*this, from, way);
  queue.host = config_.ranks[from];
  return queue;
}

void RunningJob::start() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    later(rank, Event::begin, rank, Instant{} + config_.start);
}

void RunningJob::later(std::uint32_t rank, Event event, std::uint32_t of, Instant at) {
  network_.host(config_.ranks[rank]).call_later(application_, tag_of(event, number_, of), at);
}

void RunningJob::on_event(Event event, std::uint32_t number, Instant now) {
  switch (event) {
    case Event::begin:
      return begin(number, {.parts = {}, .at = now});
    case Event::communicate:
      return communicate(number, now);
    case Event::post:
      return post(number, ranks_[schedule_[number].from].delayed.extract(number).mapped());
    case Event::end:
      return end_if_done(number, ranks_[number].chain.until(now, &TimeParts::computing));
  }
}

void RunningJob::begin(std::uint32_t number, const CauseChain& chain) {
  Rank& rank = ranks_[number];
  const Instant now = chain.at;
  rank.chain = chain;
  rank.began.push_back(now);
  rank.computes_until = now + config_.compute;
  rank.waits_for_end = false;
  rank.to_post = rank.out.size();
  rank.to_arrive = static_cast<std::size_t>(std::ranges::count_if(
      rank.in, [&](std::uint32_t transfer) { return arrived_[transfer] <= rank.iteration(); }));
  const double alone = static_cast<double>(config_.compute.count()) * (1 - config_.overlap);
  if (alone < 1) return communicate(number, now);
  later(number, Event::communicate, number, now + Duration{static_cast<std::int64_t>(alone)});
}

void RunningJob::communicate(std::uint32_t number, Instant now) {
  Rank& rank = ranks_[number];
  rank.communicates = true;
  rank.chain = rank.chain.until(now, &TimeParts::computing);
  const CauseChain chain = rank.chain;
  for (const std::uint32_t transfer : rank.out)
    if (may_go(transfer)) make_ready(transfer, chain);
  end_if_done(number, chain);
}

/// All that it waits for has arrived in this iteration of its sender.
bool RunningJob::may_go(std::uint32_t transfer) const noexcept {
  const std::size_t iteration = ranks_[schedule_[transfer].from].iteration();
  return std::ranges::all_of(schedule_[transfer].after,
                             [&](std::uint32_t before) { return arrived_[before] > iteration; });
}

/// Posts a message once its start has come and the overhead is over.
void RunningJob::make_ready(std::uint32_t transfer, const CauseChain& chain) {
  const JobMessage& message = schedule_[transfer];
  const Instant start = ranks_[message.from].began.back() + message.start;
  const CauseChain ready =
      chain.until(std::max(chain.at, start), &TimeParts::computing)
          .until(std::max(chain.at, start) + config_.step_overhead, &TimeParts::overhead);
  if (ready.at == chain.at) return post(transfer, ready);
  ranks_[message.from].delayed.insert_or_assign(transfer, ready);
  later(message.from, Event::post, transfer, ready.at);
}

void RunningJob::post(std::uint32_t transfer, const CauseChain& chain) {
  SendQueue& queue = *queue_of_[transfer];
  queue.messages.push_back({.transfer = transfer,
                            .chain = chain,
                            .at_ready = queue.watch.sums(chain.at),
                            .at_left = {},
                            .left = Instant::max(),
                            .last_psn = {}});
  post_ready(queue, chain.at);
}

void RunningJob::post_ready(SendQueue& queue, Instant now) {
  while (queue.posted < queue.messages.size()) {
    const Message message = queue.messages[queue.posted];
    const transport::WorkRequest request{
        .operation = wire::Operation::send,
        .immediate = true,
        .length = static_cast<std::uint32_t>(schedule_[message.transfer].bytes),
        .word = message.transfer,
        .local_va = kPerfVa};
    ++queue.posted;  // post() may send its packets at once
    if (!network_.host(queue.host).post(queue.qp, request, now)) {
      --queue.posted;
      return;
    }
    const std::uint32_t from = schedule_[message.transfer].from;
    --ranks_[from].to_post;
    end_if_done(from, message.chain.until(now, &TimeParts::window));
  }
}

void RunningJob::complete(SendQueue& queue, Instant now) {
  queue.messages.pop_front();
  --queue.posted;
  post_ready(queue, now);
}

/// The last packet of a message may leave several times, and packets before it once more.
void RunningJob::left(SendQueue& queue, const Packet& packet, const transport::QueuePair& pair,
                      Instant now) {
  const bool again = queue.watch.left(packet, pair, now);
  if (!again && !transport::meaning_of(packet.opcode).ends) return;
  LeftPacket left{again, packet.psn, now, queue.watch.sums(now)};
  if (!again) {
    const auto ended = std::ranges::find(queue.messages, Instant::max(), &Message::left);
    if (ended == queue.messages.end()) return;
    ended->left = now;
    left.message = *ended;
  }
  if (queue.crosses)
    queue.left_packets.push_back(left);
  else
    note_left(queue, left);
}

void RunningJob::note_left(SendQueue& queue, const LeftPacket& left) {
  Message* of = nullptr;
  if (!left.again) {
    of = &queue.under_way.emplace_back(left.message);
    of->last_psn = left.psn;
  } else {
    const auto found = std::ranges::find_if(queue.under_way, [&](const Message& message) {
      return wire::Psn::distance(left.psn, message.last_psn) >= 0;
    });
    if (found == queue.under_way.end()) return;
    of = &*found;
  }
  of->left = left.at;
  of->at_left = left.sums;
}

void RunningJob::hand_over(SendQueue& queue) {
  for (const LeftPacket& left : queue.left_packets) note_left(queue, left);
  queue.left_packets.clear();
}

void RunningJob::arrive(SendQueue& queue, std::uint32_t transfer, std::uint32_t length,
                        Instant now) {
  const Message message = queue.under_way.front();
  queue.under_way.pop_front();
  const TimeParts parts = parts_of(queue.watch.way(), message.at_ready, message.chain.at,
                                   message.at_left, message.left, length, now);
  note(message, parts, length, now);
  const CauseChain chain = message.chain.after(parts);
  const std::uint32_t to = schedule_[transfer].to;
  Rank& rank = ranks_[to];
  const bool of_this =
      arrived_[transfer]++ == rank.iteration() && rank.began.size() > rank.iteration();
  if (!of_this) return;  // its sender is ahead
  --rank.to_arrive;
  if (rank.communicates)
    for (const std::uint32_t each : next_[transfer])
      if (may_go(each)) make_ready(each, chain);
  end_if_done(to, chain);
}

/// Counts an arrival in its step, and in the timeline of the first iteration. Of the longest
/// messages of a step, that of the rank with the least number is named.
void RunningJob::note(const Message& message, const TimeParts& parts, std::uint32_t bytes,
                      Instant now) {
  const JobMessage& of = schedule_[message.transfer];
  const std::uint32_t step = step_[message.transfer];
  if (arrived_[message.transfer] == 0 && message.transfer < timeline_.size())
    timeline_[message.transfer] = {of.from, of.to, step, message.chain.at, now};
  const std::lock_guard lock(common_);
  ++result_.messages;
  result_.bytes += bytes;
  if (step > result_.steps.size()) return;
  StepResult& sums = result_.steps[step - 1];
  ++sums.messages;
  sums.parts += parts;
  const Duration total = parts.total();
  if (total < sums.longest || (total == sums.longest && of.to >= sums.slowest)) return;
  sums.longest = total;
  sums.slowest = of.to;
}

void RunningJob::end_if_done(std::uint32_t number, const CauseChain& chain) {
  Rank& rank = ranks_[number];
  if (!rank.communicates || rank.to_arrive > 0 || rank.to_post > 0) return;
  if (chain.at >= rank.computes_until) return end(number, chain);
  if (!std::exchange(rank.waits_for_end, true))
    later(number, Event::end, number, rank.computes_until);
}

void RunningJob::end(std::uint32_t number, const CauseChain& chain) {
  Rank& rank = ranks_[number];
  rank.communicates = false;
  note_end(number, chain);
  rank.ended.push_back(chain.at);
  if (rank.iteration() < config_.repeat) begin(number, chain);
}

/// A rank ends its iteration.
void RunningJob::note_end(std::uint32_t number, const CauseChain& chain) {
  const std::lock_guard lock(common_);
  const std::size_t ahead = ranks_[number].iteration() - ended_;
  if (ahead >= endings_.size()) endings_.resize(ahead + 1);
  Ending& ending = endings_[ahead];
  const bool is_last =
      chain.at > ending.last.at || (chain.at == ending.last.at && number < ending.last_rank);
  if (ending.ranks++ == 0 || is_last) {
    ending.last = chain;
    ending.last_rank = number;
  }
  for (; !endings_.empty() && endings_.front().ranks == ranks_.size(); endings_.pop_front()) {
    result_.parts = endings_.front().last.parts;
    ++ended_;
  }
}

bool RunningJob::done() const noexcept {
  return std::ranges::all_of(ranks_,
                             [&](const Rank& rank) { return rank.iteration() == config_.repeat; });
}

std::vector<StuckMessage> RunningJob::unanswered() const {
  std::vector<StuckMessage> found;
  for (const SendQueue& queue : queues_) {
    const auto posted = queue.messages.begin() + static_cast<std::ptrdiff_t>(queue.posted);
    const auto leaving =
        std::ranges::find(queue.messages.begin(), posted, Instant::max(), &Message::left);
    if (queue.under_way.empty() && leaving == posted) continue;
    const Message& oldest = queue.under_way.empty() ? *leaving : queue.under_way.front();
    const JobMessage& of = schedule_[oldest.transfer];
    found.push_back({of.from, of.to, step_[oldest.transfer]});
  }
  return found;
}

JobResult RunningJob::result() const {
  JobResult result = result_;
  std::ranges::copy_if(timeline_, std::back_inserter(result.timeline),
                       [](const TimelineMessage& each) { return each.arrived > Instant{}; });
  for (std::size_t i = 0; i < ended_; ++i) {
    IterationResult& at = result.iterations.emplace_back(
        IterationResult{.began = Instant::max(), .ended = Instant{}});
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      at.began = std::min(at.began, ranks_[rank].began[i]);
      if (ranks_[rank].ended[i] > at.ended) at.slowest = rank;
      at.ended = std::max(at.ended, ranks_[rank].ended[i]);
    }
  }
  return result;
}

}  // namespace lw::sim
