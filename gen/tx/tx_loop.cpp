// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/tx_loop.h"

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

TxLoop::TxLoop(TxScheduler& scheduler, std::size_t flows, CoreShare share,
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
  if (std::ranges::all_of(senders_, &FlowBurst::is_timed)) lead_ = kLead;
}

/// All that is due by now, up to a burst for some port.
void TxLoop::take_due(Instant now) noexcept {
  std::uint64_t budget = budget_.take(FlowBurst::kBurst * senders_.size());
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
std::uint64_t TxLoop::fill(FlowBurst& sender, Instant now, Duration elapsed,
                           std::uint64_t most) noexcept {
  FlowBurst::Filling burst(sender);
  const std::uint64_t room = std::min<std::uint64_t>(most, burst.room());
  SendStamp stamp{.time_ns = static_cast<std::uint64_t>(to_ns(now))};
  std::uint64_t left = room;
  const bool rounds = senders_.size() == 1 && !sender.is_timed();
  do {
    // A burst that fits a call whole waits for the next one rather than be split.
    const std::size_t together = scheduler_.source(scheduler_.turn().flow).together();
    if (burst.room() < std::min(together, FlowBurst::kBurst)) break;
    std::uint64_t taken = 0;
    if (rounds && scheduler_.row().size() > 1) taken = take_round(burst, stamp, elapsed, left);
    if (taken == 0) taken = take_turn(burst, sender.is_timed(), stamp, elapsed, left);
    left -= taken;
  } while (left > 0 && is_due(elapsed) && &sender_of(scheduler_.turn().flow) == &sender);
  burst.close();
  return room - left;
}

/// Frames of the flow whose turn it is, as long as no other's is; returns how many.
std::uint64_t TxLoop::take_turn(FlowBurst::Filling& burst, bool timed, SendStamp& stamp,
                                Duration elapsed, std::uint64_t most) noexcept {
  const std::uint32_t flow = scheduler_.turn().flow;
  HotFlow& source = scheduler_.source(flow);
  const Duration until = std::min(scheduler_.alone_until(), elapsed + Duration{1});
  std::uint64_t left = most;
  Duration last{};
  bool more = true;
  do {
    const std::size_t frames = source.due_before(until, left);
    last = source.due_of(frames - 1);
    const bool alike = lead_ == Duration{0} && !timed && source.shape() != nullptr;
    if (alike && burst.buffers().size() >= frames) [[likely]] {
      make_row(burst, flow, stamp, frames);
    } else {
      for (std::size_t i = 0; i < frames; ++i) {
        make_one(burst, flow, timed, stamp, source.due_of(i));
      }
    }
    left -= frames;
    if (!source.advance(frames)) more = go_on(flow);
  } while (left > 0 && more && source.due() < until);
  late_[flow] = std::max(elapsed - lead_ - last, Duration{0});
  scheduler_.resume(more);
  return most - left;
}

/// Frames of one run that leave at one time, and for which there are buffers.
void TxLoop::make_row(FlowBurst::Filling& burst, std::uint32_t flow, SendStamp& stamp,
                      std::size_t frames) noexcept {
  HotFlow& source = scheduler_.source(flow);
  const std::span<rte_mbuf* const> buffers = burst.buffers();
  const FrameInfo facts = source.facts();
  const std::size_t headers = source.shape()->headers;
  const int imprint = buffers_.imprint_offset();
  source.make(frames, stamp, [&](std::size_t i) {
    SendBuffers::set_lengths(buffers[i], headers, facts.size);
    return SendBuffers::place_in(buffers[i], imprint);
  });
  burst.add(flow, static_cast<std::uint32_t>(frames), source.due(), facts);
}

/// The flow's next frame, whatever it is, which is due `at`.
void TxLoop::make_one(FlowBurst::Filling& burst, std::uint32_t flow, bool timed, SendStamp& stamp,
                      Duration at) noexcept {
  HotFlow& source = scheduler_.source(flow);
  FlowWalk& walk = scheduler_.walk(flow);
  const FrameInfo facts = source.facts();
  if (lead_ > Duration{0}) stamp = {.time_ns = static_cast<std::uint64_t>(to_ns(start_ + at))};
  if (burst.buffers().empty()) {
    BufferTag nothing;
    source.make(walk, stamp, {burst.nowhere(), &nothing});
    return burst.add_nowhere(flow, at, facts);
  }
  rte_mbuf* buffer = burst.buffers().front();
  const HotFlow::Place place = SendBuffers::place_in(buffer, buffers_.imprint_offset());
  const std::byte* begin = source.make(walk, stamp, place);
  SendBuffers::set_lengths(buffer, static_cast<std::size_t>(place.payload - begin), facts.size);
  if (timed) burst.set_due(buffer, start_ + at);
  burst.add(flow, 1, at, facts);
}

/// Behind the last frame of a source's run: it is counted, and the next one begins where the flow
/// isn't through.
bool TxLoop::go_on(std::uint32_t flow) noexcept {
  HotFlow& source = scheduler_.source(flow);
  FlowWalk& walk = scheduler_.walk(flow);
  count_sent(tallies_[flow], source.facts(), source.made(walk));
  return scheduler_.refill(flow);
}

/// All frames but the first that were sent were taken in vain.
void TxLoop::give_up(const FlowBurst::Outcome& outcome) noexcept {
  std::size_t sent = outcome.sent, frame = 0;
  for (const TxGroup& departure : outcome.departures) {
    const std::size_t kept = std::min<std::size_t>(sent, departure.frames);
    if (departure.flow == TxGroup::kSeveral) {
      for (const std::uint32_t flow :
           outcome.flows.subspan(frame + kept, departure.frames - kept)) {
        count_given_up(tallies_[flow], departure.facts, 1);
      }
    } else {
      count_given_up(tallies_[departure.flow], departure.facts, departure.frames - kept);
    }
    sent -= kept;
    frame += departure.frames;
  }
}

std::vector<FlowTally> TxLoop::tallies() const {
  std::vector<FlowTally> tallies = tallies_;
  for (std::uint32_t flow = 0; flow < tallies.size(); ++flow) {
    const HotFlow& source = scheduler_.source(flow);
    FlowTally& tally = tallies[flow];
    count_sent(tally, source.facts(), source.made(scheduler_.walk(flow)));
    if (tally.frames + tally.not_sent == 0) continue;
    tally.begin = begins_[flow];
    tally.span = source.span() + late_[flow];
  }
  return tallies;
}

Result<void> TxLoop::send_due(Instant now) {
  take_due(now);
  looked_ = {};
  for (FlowBurst& sender : senders_) {
    sender.follow_clock(now);
    const auto outcome = sender.send(start_);
    looked_ = std::max(looked_, outcome.looked);
    if (!outcome.complete) [[unlikely]]
      give_up(outcome);
    if (copy_ == nullptr) continue;
    if (auto kept = keep_copies(sender, outcome); !kept) return kept;
  }
  return {};
}

Result<void> TxLoop::keep_copies(const FlowBurst& sender, const FlowBurst::Outcome& outcome) {
  const Instant stamp = instant_from_ns(outcome.wall_clock_ns);
  for (std::size_t i = 0; i < outcome.sent; ++i) {
    const wire::Bytes frame = sender.copy(i);
    auto written = copy_->write(stamp, frame, static_cast<std::uint32_t>(frame.size()));
    if (!written) return written;
  }
  return {};
}

}  // namespace lw::gen
