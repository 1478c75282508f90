// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link.h: frames leave their rule's queue, and its other stages decide when they are released.
#include "emulator/link.h"
#include "emulator/link_impl.h"

namespace lw::emulator {

/// The ingress frame number of a frame inside that was admitted alone.
template <class Handle, FrameAccess<Handle> Frames>
std::uint64_t Link<Handle, Frames>::number_of(const Transit& transit) const noexcept {
  return transit.logged ? ledger_.kept(slot_of(transit)).number : transit.full_number(received_);
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::depart_due(Instant now) noexcept {
  for (const auto& queue : pipeline_.queues()) depart_from(*queue, now);
  find_departure();
}

/// Lets the frames go on that have left a queue by `now`.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::depart_from(RulesQueue& queue, Instant now) noexcept {
  const auto use = [&](const RulesQueue::Frames::SentFrame& sent, std::uint64_t busy_bytes) {
    const RulesQueue::Waiting& frame = sent.handle;
    if (frame.rule == kUntouched) return;  // only its place has waited
    pipeline_.rule(frame.rule).count_departure(frame, busy_bytes);
    if (frame.release == RulesQueue::kUndecided) return depart_with(sent, sent.times.departs);
    delay_.add((frame.release - frame.came).count());
  };
  while (queue.depart(now, use)) continue;
}

/// Lets the frame of its rule that waits longest go on, which has left the rule's queue.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::depart_with(const RulesQueue::Frames::SentFrame& sent,
                                       Instant now) noexcept {
  Rule& rule = pipeline_.rule(sent.handle.rule);
  Ring<Entry>& waiting = waiting_[sent.handle.rule];
  Entry entry = waiting.front();
  Transit& transit = entry.transit();
  static constexpr roce::Envelope kUnopened{};
  std::optional<roce::Envelope> opened;
  if (rule.acts_on_leaving()) [[unlikely]]
    opened = roce::open_envelope(frames_.writable(entry.handle), transit.byte_count());
  const Decision decision =
      rule.depart(sent, number_of(transit), transit.copy, opened ? *opened : kUnopened);
  if (decision.mark) [[unlikely]]
    roce::set_congestion_experienced(frames_.writable(entry.handle), *opened);
  transit.acted |= decision.acted.bits();
  if (transit.logged) ledger_.amend(slot_of(transit), decision.acted);
  entry.due = decision.release;
  if (decision.overtakes) [[unlikely]] {
    place_overtaking(entry, decision, now);
  } else {
    delay_.add((decision.release - transit.in()).count());
    queue_.push(decision.line, entry, now);
  }
  waiting.pop();
  waiting.rewind();
  --waiting_frames_;
}

/// Lets frames leave a queue, as they would have left it, whose rules do not use it in the `next`
/// pipeline as they do now. Their places stay in the queue.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::depart_ahead(RulesQueue& queue, const Pipeline& next,
                                        Instant now) noexcept {
  if (queue.frames.size() == 0) return;
  const auto leaves = [&](RuleIndex rule) {
    if (rule == kUntouched) return false;
    const RuleConfig* const config = next.config_of(rule);
    return !config || !emulator::Queue::in_same_class(*config, *pipeline_.config_of(rule));
  };
  queue.frames.foresee([&](const auto& sent) {
    if (leaves(sent.handle.rule)) depart_with(sent, now);
  });
  queue.frames.for_each([&](RulesQueue::Waiting& frame) {
    if (leaves(frame.rule)) frame.rule = kUntouched;
  });
}

/// Decides at once when a frame that waits in its rule's queue is released, if that is known. The
/// frame goes to the end of the rule's FIFO, from which take_back() takes it if something changes.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::release_on_arrival(Decision& decision) noexcept {
  if (decision.action != Action::wait) [[likely]]
    return;
  Rule& rule = pipeline_.rule(decision.rule);
  if (rule.knows_release() && waiting_[decision.rule].empty() &&
      queue_.keeps(rule.line(), decision.release))
    rule.release_on_arrival(decision);
}

/// Lets frames in the queue of a rule wait for their departure whose release was decided when they
/// came: they are the last of the rule's FIFO.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::take_back(Rule& rule) noexcept {
  std::size_t decided = 0;
  rule.queue()->frames.for_each([&](const RulesQueue::Waiting& frame) {
    decided += frame.rule == rule.index() && frame.release != RulesQueue::kUndecided ? 1U : 0U;
  });
  if (decided == 0) return;
  queue_.take_back(rule.line(), decided,
                   [&](const Entry& entry) { waiting_[rule.index()].push_front(entry); });
  waiting_frames_ += decided;
  rule.take_back();
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::find_departure() noexcept {
  next_departure_ = Queue::kNever;
  for (const auto& queue : pipeline_.queues())
    next_departure_ = std::min(next_departure_, queue->frames.next_event());
}

}  // namespace lw::emulator
