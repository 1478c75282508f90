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
      tallies_(flows) {
  for (nic::Port& port : ports) {
    senders_.emplace_back(port, share.core, buffers, audit_, copy != nullptr);
  }
  // Where one port doesn't keep the time the loop must, for all.
  if (std::ranges::all_of(senders_, &BurstSender::is_timed)) lead_ = kLead;
}

/// All that is due by now, up to a burst for some port.
void SendLoop::take_due(Instant now) noexcept {
  std::uint64_t budget = budget_.take(BurstSender::kBurst * senders_.size());
  SendStamp stamp{.time_ns = static_cast<std::uint64_t>(to_ns(now))};
  Duration elapsed = now - start_ + lead_;
  if (limits_.duration) elapsed = std::min(elapsed, *limits_.duration - Duration{1});
  while (budget > 0 && !scheduler_.done() && scheduler_.turn().at <= elapsed) {
    BurstSender& sender = sender_of(scheduler_.turn().flow);
    // A burst that fits a call whole waits for the next one rather than be split.
    const std::size_t together = scheduler_.source(scheduler_.turn().flow).together();
    if (sender.room() < std::min(together, BurstSender::kBurst)) break;
    budget -= take_turn(sender, stamp, elapsed, budget);
  }
  budget_.give_back(budget);
}

/// Frames of the flow whose turn it is, as long as no other's is; returns how many.
std::uint64_t SendLoop::take_turn(BurstSender& sender, SendStamp& stamp, Duration now,
                                  std::uint64_t most) noexcept {
  const std::uint32_t flow = scheduler_.turn().flow;
  __builtin_prefetch(&tallies_[flow], 1);
  FlowSource& source = scheduler_.source(flow);
  FlowWalk& walk = scheduler_.walk(flow);
  const Duration until = std::min(scheduler_.alone_until(), now + Duration{1});
  most = std::min<std::uint64_t>(most, sender.room());
  auto left = static_cast<std::uint32_t>(most);
  Duration at{};
  bool more = true;
  do {
    bool in_run = true;
    left -= sender.add_row(
        flow, source.due(), source.facts(), left, [&] { return start_ + source.due(); },
        [&](std::byte* payload, Imprint& held) {
          if (lead_ > Duration{0}) [[unlikely]]
            stamp = {.time_ns = static_cast<std::uint64_t>(to_ns(start_ + source.due()))};
          return source.make(walk, stamp, payload, held);
        },
        [&] {
          at = source.due();
          in_run = source.advance();
          return in_run && source.due() < until;
        });
    if (!in_run) more = source.refill(walk);
  } while (left > 0 && more && source.due() < until);
  // Where the frame's slot ends, as late as the frame itself.
  tallies_[flow].span = source.span() + std::max(now - lead_ - at, Duration{0});
  scheduler_.resume(more);
  return most - left;
}

/// The first `sent` frames of the departures were, the others won't be.
void SendLoop::count(std::span<const Departure> departures, std::size_t sent) noexcept {
  for (const Departure& departure : departures) {
    const std::size_t frames = std::min<std::size_t>(sent, departure.frames);
    FlowTally& tally = tallies_[departure.flow];
    if (frames > 0) count_sent(tally, departure, frames);
    if (frames < departure.frames) [[unlikely]]
      tally.not_sent += departure.frames - frames;
    sent -= frames;
  }
}

Result<void> SendLoop::send_due(Instant now) {
  take_due(now);
  looked_ = {};
  for (BurstSender& sender : senders_) {
    sender.follow_clock(now);
    const auto outcome = sender.send(start_);
    looked_ = std::max(looked_, outcome.looked);
    count(outcome.departures, outcome.sent);
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
