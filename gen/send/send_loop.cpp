// SPDX-License-Identifier: BSD-3-Clause
#include "gen/send/send_loop.h"

#include <algorithm>

namespace lw::gen {

namespace {

/// Enough for a loop that was held up, and few enough for a device's ring.
constexpr Duration kLead = std::chrono::microseconds(100);

}  // namespace

std::uint64_t FrameBudget::take(std::uint64_t most) noexcept {
  if (unlimited_) return most;
  std::uint64_t left = left_.load(std::memory_order_relaxed);
  std::uint64_t taken = 0;
  do {
    taken = std::min(left, most);
  } while (!left_.compare_exchange_weak(left, left - taken, std::memory_order_relaxed));
  return taken;
}

SendLoop::SendLoop(Scheduler& scheduler, std::size_t flows, CoreShare share,
                   std::span<nic::Port> ports, SendBuffers& buffers, const Limits& limits,
                   FrameBudget& budget, capture::Writer* copy)
    : scheduler_(scheduler),
      share_(share),
      limits_(limits),
      budget_(budget),
      copy_(copy),
      buffers_(buffers),
      tallies_(flows),
      late_(flows) {
  for (std::uint32_t flow = 0; flow < flows; ++flow) {
    begins_.push_back(scheduler.source(flow).due());
  }
  for (nic::Port& port : ports) {
    senders_.emplace_back(port, share.core, buffers, audit_, copy != nullptr);
  }
  // Where one port doesn't keep the time the loop must, for all.
  if (std::ranges::all_of(senders_, &BurstSender::is_timed)) lead_ = kLead;
}

/// All that is due by now, up to a burst for some port.
void SendLoop::take_due(Instant now) noexcept {
  std::uint64_t budget = budget_.take(BurstSender::kBurst * senders_.size());
  Duration elapsed = now - start_ + lead_;
  if (limits_.duration) elapsed = std::min(elapsed, *limits_.duration - Duration{1});
  while (budget > 0 && is_due(elapsed)) {
    const std::uint64_t taken = fill(sender_of(scheduler_.turn().flow), now, elapsed, budget);
    if (taken == 0) break;
    budget -= taken;
  }
  budget_.give_back(budget);
}

/// Turns of the flows of one port, one behind the other; returns how many frames.
std::uint64_t SendLoop::fill(BurstSender& sender, Instant now, Duration elapsed,
                             std::uint64_t most) noexcept {
  BurstSender::Filling burst(sender);
  const std::uint64_t room = std::min<std::uint64_t>(most, burst.room());
  SendStamp stamp{.time_ns = static_cast<std::uint64_t>(to_ns(now))};
  std::uint64_t left = room;
  const bool rounds = senders_.size() == 1 && !sender.is_timed();
  do {
    // A burst that fits a call whole waits for the next one rather than be split.
    const std::size_t together = scheduler_.source(scheduler_.turn().flow).together();
    if (burst.room() < std::min(together, BurstSender::kBurst)) break;
    std::uint64_t taken = 0;
    if (rounds && scheduler_.row().size() > 1) taken = take_round(burst, stamp, elapsed, left);
    if (taken == 0) taken = take_turn(burst, sender.is_timed(), stamp, elapsed, left);
    left -= taken;
  } while (left > 0 && is_due(elapsed) && &sender_of(scheduler_.turn().flow) == &sender);
  burst.close();
  return room - left;
}

/// Frames of the flow whose turn it is, as long as no other's is; returns how many.
std::uint64_t SendLoop::take_turn(BurstSender::Filling& filling, bool timed, SendStamp& stamp,
                                  Duration elapsed, std::uint64_t most) noexcept {
  BurstSender::Filling burst = filling;
  const std::uint32_t flow = scheduler_.turn().flow;
  FlowSource& source = scheduler_.source(flow);
  FlowWalk& walk = scheduler_.walk(flow);
  const Duration lead = lead_;
  const Duration until = std::min(scheduler_.alone_until(), elapsed + Duration{1});
  std::uint64_t left = most;
  Duration at = source.due();
  bool more = true;
  do {
    const Duration first = source.due();
    const FrameFacts facts = source.facts();
    const std::uint64_t before = left;
    bool in_run = true;
    do {
      at = source.due();
      if (lead > Duration{0}) [[unlikely]]
        stamp = {.time_ns = static_cast<std::uint64_t>(to_ns(start_ + at))};
      rte_mbuf* buffer = burst.add([&](std::byte* payload, Imprint& held) {
        const std::byte* start = source.make(walk, stamp, payload, held);
        return SendBuffers::MadeFrame{static_cast<std::size_t>(payload - start), facts.size};
      });
      if (timed && buffer != nullptr) [[unlikely]]
        burst.set_due(buffer, start_ + at);
      in_run = source.advance();
      --left;
    } while (in_run && left > 0 && source.due() < until);
    burst.end_row(flow, first, facts, static_cast<std::uint32_t>(before - left));
    if (!in_run) more = go_on(flow);
  } while (left > 0 && more && source.due() < until);
  late_[flow] = std::max(elapsed - lead - at, Duration{0});
  scheduler_.resume(more);
  filling = burst;
  return most - left;
}

/// take_turn() of flow after flow, a frame each, as long as none of them comes again before the
/// next one: what many QPs do. All turns are given back at once, and what a frame needs not at hand
/// while it is made is done for all of them before and behind.
std::uint64_t SendLoop::take_round(BurstSender::Filling& burst, SendStamp& stamp, Duration elapsed,
                                   std::uint64_t most) noexcept {
  std::span<const Turn> turns = scheduler_.row();
  turns = turns.first(std::min({turns.size(), burst.buffers().size(), std::size_t{most}}));
  std::array<Duration, BurstSender::kBurst> next;
  burst.note_rows(turns, [this](std::uint32_t flow) { return scheduler_.source(flow).facts(); });
  const std::size_t taken = make_round(turns, burst.buffers(), stamp, elapsed, next);
  if (taken == 0) return 0;
  for (const Turn& turn : turns.first(taken)) late_[turn.flow] = elapsed - turn.at;
  burst.add_noted(taken, turns.front().at);
  scheduler_.resume(std::span(next).first(taken));
  return taken;
}

/// The frames of a round's first turns, and when their flows' next ones are; returns how many.
std::size_t SendLoop::make_round(std::span<const Turn> turns, std::span<rte_mbuf* const> buffers,
                                 SendStamp& stamp, Duration elapsed,
                                 std::span<Duration> next) noexcept {
  const int imprint = buffers_.imprint_offset();
  const std::span<FlowSource> sources = scheduler_.sources();
  Duration until = std::min(scheduler_.row_until(), elapsed + Duration{1});
  std::size_t made = 0;
  for (; made < turns.size(); ++made) {
    FlowSource& source = sources[turns[made].flow];
    if (turns[made].at >= until || !source.is_single()) break;
    SendBuffers::fill(buffers[made], imprint, [&](std::byte* payload, Imprint& held) {
      source.make_single(stamp, payload, held);
      return SendBuffers::MadeFrame{source.headers(), source.facts().size};
    });
    const bool more = source.advance() || go_on(turns[made].flow);
    const Duration due = more ? source.due() : TurnQueue::kNever;
    next[made] = due;
    if (due < until) until = due;
  }
  return made;
}

/// Behind the last frame of a source's run: it is counted, and the next one begins where the flow
/// isn't through.
bool SendLoop::go_on(std::uint32_t flow) noexcept {
  FlowSource& source = scheduler_.source(flow);
  FlowWalk& walk = scheduler_.walk(flow);
  count_sent(tallies_[flow], source.facts(), source.made(walk));
  return scheduler_.refill(flow);
}

/// All frames but the first `sent` of the departures were taken in vain.
void SendLoop::give_up(std::span<const Departure> departures, std::size_t sent) noexcept {
  for (const Departure& departure : departures) {
    const std::size_t kept = std::min<std::size_t>(sent, departure.frames);
    count_given_up(tallies_[departure.flow], departure.facts, departure.frames - kept);
    sent -= kept;
  }
}

std::vector<FlowTally> SendLoop::tallies() const {
  std::vector<FlowTally> tallies = tallies_;
  for (std::uint32_t flow = 0; flow < tallies.size(); ++flow) {
    const FlowSource& source = scheduler_.source(flow);
    FlowTally& tally = tallies[flow];
    count_sent(tally, source.facts(), source.made(scheduler_.walk(flow)));
    if (tally.frames + tally.not_sent == 0) continue;
    tally.begin = begins_[flow];
    tally.span = source.span() + late_[flow];
  }
  return tallies;
}

Result<void> SendLoop::send_due(Instant now) {
  take_due(now);
  looked_ = {};
  for (BurstSender& sender : senders_) {
    sender.follow_clock(now);
    const auto outcome = sender.send(start_);
    looked_ = std::max(looked_, outcome.looked);
    if (!outcome.complete) [[unlikely]]
      give_up(outcome.departures, outcome.sent);
    if (copy_ == nullptr) continue;
    if (auto kept = keep_copies(sender, outcome); !kept) return kept;
  }
  return {};
}

Result<void> SendLoop::keep_copies(const BurstSender& sender, const BurstSender::Outcome& outcome) {
  const Instant stamp = instant_from_ns(outcome.wall_clock_ns);
  for (std::size_t i = 0; i < outcome.sent; ++i) {
    const wire::Bytes frame = sender.copy(i);
    auto written = copy_->write(stamp, frame, static_cast<std::uint32_t>(frame.size()));
    if (!written) return written;
  }
  return {};
}

}  // namespace lw::gen
