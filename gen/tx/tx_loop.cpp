// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/tx_loop.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "gen/tx/ports.h"

namespace lw::gen {

namespace {

/// Lead of timed ports: covers a delay of the loop, and fits a device's ring.
constexpr Duration kLead = std::chrono::microseconds(100);

}  // namespace

std::uint64_t FrameBudget::reserve(std::uint64_t most) noexcept {
  if (unlimited_) return most;
  std::uint64_t left = left_.load(std::memory_order_relaxed);
  std::uint64_t taken = 0;
  do {
    taken = std::min(left, most);
  } while (!left_.compare_exchange_weak(left, left - taken, std::memory_order_relaxed));
  return taken;
}

/// State of take_from_flows().
struct TxLoop::DueBatch {
  std::span<const DueFlow> flows;
  std::span<Duration> next;  // by entry: the flow's next due time
  Duration until;            // only entries that are due before
  Duration elapsed;
  std::size_t taken = 0;  // entries
};

TxLoop::TxLoop(TxScheduler& scheduler, std::size_t flows, CoreShare share,
               std::span<nic::Port> ports, SendBuffers& buffers, const Limits& limits,
               FrameBudget& budget, capture::Writer* copy)
    : scheduler_(scheduler),
      share_(share),
      limits_(limits),
      budget_(budget),
      copy_(copy),
      buffers_(buffers),
      counters_(flows),
      late_(flows),
      ports_(ports),
      not_sent_(ports.size()) {
  for (std::uint32_t flow = 0; flow < flows; ++flow) {
    begins_.push_back(scheduler.hot(flow).due());
  }
  for (nic::Port& port : ports) {
    bursts_.emplace_back(port, share.core, buffers, audit_, copy != nullptr);
  }
  // A lead needs all ports to be timed: the loop paces them together.
  if (std::ranges::all_of(bursts_, &FlowBurst::is_timed)) lead_ = kLead;
}

Duration TxLoop::behind(Instant now) const noexcept {
  const bool spent = scheduler_.done() || budget_.spent();
  const Duration due = spent ? Duration{0} : scheduler_.poll().at;
  const bool is_sent = !spent && !(limits_.duration && due >= *limits_.duration);
  Duration late = is_sent ? now - start_ - due : Duration{0};
  if (spent)
    for (const Duration each : late_) late = std::max(late, each);
  return std::max(late, Duration{0}) + caught_up_.skipped;
}

EndedBy TxLoop::ended_by() const noexcept {
  if (scheduler_.done()) return EndedBy::flows;
  return budget_.spent() ? EndedBy::count : EndedBy::duration;
}

/// Fills the bursts with all frames that are due, until one burst is full.
void TxLoop::fill_bursts(Instant now) noexcept {
  std::uint64_t budget = budget_.reserve(FlowBurst::kFrames * bursts_.size());
  Duration elapsed = now - start_ + lead_;
  if (limits_.duration) elapsed = std::min(elapsed, *limits_.duration - Duration{1});
  while (budget > 0 && is_due(elapsed)) {
    const std::uint64_t taken = fill(burst_of(scheduler_.poll().flow), now, elapsed, budget);
    if (taken == 0) break;
    budget -= taken;
  }
  budget_.give_back(budget);
}

/// Fills one port's burst as long as its flows are next. Returns the number of frames.
std::uint64_t TxLoop::fill(FlowBurst& burst, Instant now, Duration elapsed,
                           std::uint64_t most) noexcept {
  FlowBurst::Filling filling(burst);
  const std::uint64_t space = std::min<std::uint64_t>(most, filling.space());
  SendStamp stamp{.time_ns = static_cast<std::uint64_t>(to_ns(now + stamp_offset_))};
  std::uint64_t left = space;
  const bool batches = bursts_.size() == 1 && !burst.is_timed();
  do {
    // Frames that are due together and fit one burst are not split.
    const std::size_t together = scheduler_.hot(scheduler_.poll().flow).together();
    if (filling.space() < std::min(together, FlowBurst::kFrames)) break;
    std::uint64_t taken = 0;
    if (batches && scheduler_.batch().size() > 1) {
      taken = take_from_flows(filling, stamp, elapsed, left);
    }
    if (taken == 0) taken = take_from_flow(filling, burst.is_timed(), stamp, elapsed, left);
    left -= taken;
  } while (left > 0 && is_due(elapsed) && &burst_of(scheduler_.poll().flow) == &burst);
  filling.close();
  return space - left;
}

/// Takes frames of the next flow, as long as no other flow is next. Returns the number of frames.
std::uint64_t TxLoop::take_from_flow(FlowBurst::Filling& burst, bool timed, SendStamp& stamp,
                                     Duration elapsed, std::uint64_t most) noexcept {
  const std::uint32_t flow = scheduler_.poll().flow;
  HotFlow& hot = scheduler_.hot(flow);
  const Duration until = std::min(scheduler_.exclusive_until(), elapsed + Duration{1});
  std::uint64_t left = most;
  Duration last{};
  bool more = true;
  do {
    const std::size_t frames = hot.due_before(until, left);
    last = hot.due_of(frames - 1);
    const bool alike = lead_ == Duration{0} && !timed && hot.layout() != nullptr;
    if (alike && burst.buffers().size() >= frames) [[likely]] {
      encode_batch(burst, flow, stamp, frames);
    } else {
      for (std::size_t i = 0; i < frames; ++i) {
        encode_one(burst, flow, timed, stamp, hot.due_of(i));
      }
    }
    left -= frames;
    if (!hot.advance(frames)) more = next_batch(flow);
  } while (left > 0 && more && hot.due() < until);
  late_[flow] = std::max(elapsed - lead_ - last, Duration{0});
  scheduler_.reschedule(more);
  return most - left;
}

/// Encodes frames of one batch, for which there are buffers.
void TxLoop::encode_batch(FlowBurst::Filling& burst, std::uint32_t flow, SendStamp& stamp,
                          std::size_t frames) noexcept {
  HotFlow& hot = scheduler_.hot(flow);
  const std::span<rte_mbuf* const> buffers = burst.buffers();
  const FrameInfo info = hot.info();
  const std::size_t headers = hot.layout()->headers;
  const int tag = buffers_.tag_offset();
  hot.encode(frames, stamp, [&](std::size_t i) {
    SendBuffers::set_lengths(buffers[i], headers, info.size);
    return SendBuffers::slot_in(buffers[i], tag);
  });
  burst.add(flow, static_cast<std::uint32_t>(frames), hot.due(), info);
}

/// Encodes the flow's next frame, of any kind, which is due `at`.
void TxLoop::encode_one(FlowBurst::Filling& burst, std::uint32_t flow, bool timed, SendStamp& stamp,
                        Duration at) noexcept {
  HotFlow& hot = scheduler_.hot(flow);
  const FlowCursor& cursor = scheduler_.cursor(flow);
  const FrameInfo info = hot.info();
  if (lead_ > Duration{0})
    stamp = {.time_ns = static_cast<std::uint64_t>(to_ns(start_ + at + stamp_offset_))};
  if (burst.buffers().empty()) {
    BufferTag unknown;
    hot.encode(cursor, stamp, {burst.scratch(), &unknown});
    return burst.add_without_buffer(flow, at, info);
  }
  rte_mbuf* buffer = burst.buffers().front();
  const FrameSlot slot = SendBuffers::slot_in(buffer, buffers_.tag_offset());
  const std::byte* begin = hot.encode(cursor, stamp, slot);
  SendBuffers::set_lengths(buffer, static_cast<std::size_t>(slot.payload - begin), info.size);
  if (timed) burst.set_due(buffer, start_ + at);
  burst.add(flow, 1, at, info);
}

/// Takes one frame of each of the next flows, as long as no flow is due again before the next one.
/// This is usual for many QPs of one rate. All flows are rescheduled at once. Returns the number of
/// frames.
std::uint64_t TxLoop::take_from_flows(FlowBurst::Filling& burst, SendStamp& stamp, Duration elapsed,
                                      std::uint64_t most) noexcept {
  std::span<const DueFlow> flows = scheduler_.batch();
  flows = flows.first(std::min({flows.size(), burst.buffers().size(), std::size_t{most}}));
  std::array<Duration, FlowBurst::kFrames> next;
  DueBatch batch{flows, next, std::min(scheduler_.batch_until(), elapsed + Duration{1}), elapsed};
  while (batch.taken < flows.size()) {
    const HotFlow& hot = scheduler_.hot(flows[batch.taken].flow);
    if (flows[batch.taken].at >= batch.until || !hot.info().has(FrameInfo::kSingle)) break;
    with_encoder(*hot.layout(), stamp,
                 [&](const auto& encoder) { encode_each(burst, batch, *hot.layout(), encoder); });
  }
  if (batch.taken > 0) scheduler_.reschedule(std::span(next).first(batch.taken));
  return batch.taken;
}

/// Encodes the next frames of one layout and equal FrameInfo, at least one.
template <FieldSet kSet>
void TxLoop::encode_each(FlowBurst::Filling& burst, DueBatch& batch, const HeaderLayout& layout,
                         const FrameEncoder<kSet>& layout_encoder) noexcept {
  // Local copies, so that the compiler keeps them in registers.
  const auto encoder = layout_encoder;
  const std::span<const DueFlow> due_flows = batch.flows.subspan(batch.taken);
  const std::span<rte_mbuf* const> buffers = burst.buffers();
  const std::span<HotFlow> hot_flows = scheduler_.hot_flows();
  const FrameInfo info = hot_flows[due_flows[0].flow].info();
  const int tag = buffers_.tag_offset();
  const std::size_t headers = layout.headers;
  const Duration elapsed = batch.elapsed, first = due_flows[0].at;
  Duration* const next = batch.next.data() + batch.taken;
  Duration* const late = late_.data();
  std::uint32_t* const flows = burst.flows().data();
  Duration until = batch.until;
  std::size_t frames = 0;
  for (; frames < due_flows.size(); ++frames) {
    const Duration at = due_flows[frames].at;
    const std::uint32_t flow = due_flows[frames].flow;
    HotFlow& hot = hot_flows[flow];
    if (at >= until || hot.layout() != &layout || hot.info().marks != info.marks) break;
    SendBuffers::set_lengths(buffers[frames], headers, info.size);
    hot.encode(encoder, SendBuffers::slot_in(buffers[frames], tag));
    flows[frames] = flow;
    late[flow] = elapsed - at;
    const bool more = hot.advance_single() || next_batch(flow);
    const Duration due = more ? hot.due() : FlowQueue::kNever;
    next[frames] = due;
    if (due < until) until = due;
  }
  burst.add(TxGroup::kSeveral, static_cast<std::uint32_t>(frames), first, info);
  batch.taken += frames;
  batch.until = until;
}

/// Counts a flow's finished batch and loads the next one. Returns false after the flow's last
/// frame.
bool TxLoop::next_batch(std::uint32_t flow) noexcept {
  const HotFlow& hot = scheduler_.hot(flow);
  count_sent(counters_[flow], hot.info(), hot.encoded(scheduler_.cursor(flow)));
  return scheduler_.next_batch(flow);
}

/// Moves the schedule forward if the next frame is later than the limit allows, so that frames that
/// a stall has delayed don't leave in one burst.
void TxLoop::limit_catch_up(Instant now) noexcept {
  if (!limits_.catch_up || scheduler_.done()) return;
  const Duration skip = now - start_ - scheduler_.poll().at - *limits_.catch_up;
  if (skip <= Duration{0}) return;
  start_ += skip;
  caught_up_.skipped += skip;
  ++caught_up_.stalls;
}

/// Counts a flow's last frames as not sent. Later frames get their sequence numbers and PSNs, so
/// that the receiver sees no loss of the path.
void TxLoop::count_dropped(std::uint32_t flow, const FrameInfo& info,
                           std::uint64_t frames) noexcept {
  count_not_sent(counters_[flow], info, frames);
  FlowCursor& cursor = scheduler_.cursor(flow);
  std::optional<config::FaultKind> fault;
  if (info.fault() != FrameInfo::kNoFault) fault = static_cast<config::FaultKind>(info.fault());
  const bool is_signed = !info.has(FrameInfo::kLacksSignature);
  scheduler_.hot(flow).take_back(cursor, cursor.consumed(frames, fault, is_signed));
}

/// Counts all frames but the first outcome.sent as not sent, the last one first.
void TxLoop::count_dropped(std::size_t port, const FlowBurst::Outcome& outcome) noexcept {
  std::size_t end = 0;
  for (const TxGroup& group : outcome.groups) end += group.frames;
  std::size_t dropped = end - outcome.sent;
  not_sent_[port].add(reason_not_sent(ports_[port]), dropped);
  for (const TxGroup& group : outcome.groups | std::views::reverse) {
    const std::size_t frames = std::min<std::size_t>(dropped, group.frames);
    if (group.flow == TxGroup::kSeveral) {
      for (const std::uint32_t flow : outcome.flows.subspan(end - frames, frames))
        count_dropped(flow, group.info, 1);
    } else if (frames > 0) {
      count_dropped(group.flow, group.info, frames);
    }
    dropped -= frames;
    end -= group.frames;
  }
}

std::vector<FlowCounters> TxLoop::counters() const {
  std::vector<FlowCounters> result = counters_;
  for (std::uint32_t flow = 0; flow < result.size(); ++flow) {
    const HotFlow& hot = scheduler_.hot(flow);
    FlowCounters& counters = result[flow];
    count_sent(counters, hot.info(), hot.encoded(scheduler_.cursor(flow)));
    if (counters.frames + counters.not_sent == 0) continue;
    counters.begin = begins_[flow];
    counters.late = late_[flow];
    counters.span = hot.span() + counters.late + caught_up_.skipped;
  }
  return result;
}

Result<void> TxLoop::send_due(Instant now) {
  limit_catch_up(now);
  fill_bursts(now);
  clock_ = {};
  for (std::size_t port = 0; port < bursts_.size(); ++port) {
    FlowBurst& burst = bursts_[port];
    burst.follow_clock(now);
    const auto outcome = burst.send(start_);
    clock_ = std::max(clock_, outcome.clock);
    if (!outcome.complete) [[unlikely]]
      count_dropped(port, outcome);
    if (copy_ == nullptr) continue;
    if (auto written = write_copies(burst, outcome); !written) return written;
  }
  return {};
}

Result<void> TxLoop::write_copies(const FlowBurst& burst, const FlowBurst::Outcome& outcome) {
  const Instant stamp = instant_from_ns(outcome.wall_clock_ns);
  for (std::size_t i = 0; i < outcome.sent; ++i) {
    const wire::Bytes frame = burst.copy(i);
    auto written = copy_->write(stamp, frame, static_cast<std::uint32_t>(frame.size()));
    if (!written) return written;
  }
  return {};
}

}  // namespace lw::gen
