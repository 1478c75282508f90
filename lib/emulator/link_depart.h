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
  for (const std::size_t place : pipeline_.queueing())
    depart_from(pipeline_.rules()[place], now, now);
  for (const auto& queue : pipeline_.shared_queues()) depart_from(*queue, now);
  find_departure();
}

/// Lets the frames go on that have left a queue of several rules by `now`.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::depart_from(RulesQueue& queue, Instant now) noexcept {
  while (queue.depart(now, [&](const auto& sent) { depart_with(sent, sent.departs); })) continue;
}

/// Lets the frame of its rule that waits longest go on, which has left the rule's shared queue.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::depart_with(const RulesQueue::Frames::SentFrame& sent,
                                       Instant now) noexcept {
  if (sent.handle.rule == kUntouched) return;  // only its place has waited
  Rule& rule = pipeline_.rule(sent.handle.rule);
  Ring<Entry>& waiting = waiting_[sent.handle.rule];
  go_on(rule, waiting, now, [&](const Transit& transit, const roce::Envelope& envelope) {
    return rule.depart(sent, number_of(transit), transit.copy, envelope);
  });
}

/// Lets frames leave a queue of several rules, as they would have left it, whose rules do not use
/// it in the `next` pipeline as they do now. Their places stay in the queue.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::depart_ahead(RulesQueue& queue, const Pipeline& next,
                                        Instant now) noexcept {
  const auto leaves = [&](RuleIndex rule) {
    if (rule == kUntouched) return false;
    const RuleConfig* const config = next.config_of(rule);
    const auto& use = pipeline_.config_of(rule)->shared;
    return !config || !config->shared || config->shared->owner != use->owner ||
           config->shared->cls != use->cls;
  };
  queue.frames.foresee([&](const auto& sent) {
    if (leaves(sent.handle.rule)) depart_with(sent, now);
  });
  queue.frames.for_each([&](RulesQueue::Waiting& frame) {
    if (leaves(frame.rule)) frame.rule = kUntouched;
  });
}

/// Lets the frames go on that depart from the queue of `rule` by `last`, which may be after `now`.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::depart_from(Rule& rule, Instant last, Instant now) noexcept {
  Ring<Entry>& waiting = waiting_[rule.index()];
  while (!waiting.empty() && rule.next_departure() <= last)
    go_on(rule, waiting, std::min(rule.next_departure(), now),
          [&](const Transit& transit, const roce::Envelope& envelope) {
            return rule.depart(number_of(transit), transit.copy, transit.in(), envelope);
          });
}

/// Lets the first frame of `waiting`, which has left its queue at `at`, go on as
/// `decide(transit, envelope)` says.
template <class Handle, FrameAccess<Handle> Frames>
template <class Decide>
void Link<Handle, Frames>::go_on(Rule& rule, Ring<Entry>& waiting, Instant at,
                                 Decide decide) noexcept {
  Entry entry = waiting.front();
  Transit& transit = entry.transit();
  static constexpr roce::Envelope kUnopened{};
  std::optional<roce::Envelope> opened;
  if (rule.acts_on_leaving()) [[unlikely]]
    opened = roce::open_envelope(frames_.writable(entry.handle), transit.byte_count());
  const Decision decision = decide(transit, opened ? std::as_const(*opened) : kUnopened);
  if (decision.mark) [[unlikely]]
    roce::set_congestion_experienced(frames_.writable(entry.handle), *opened);
  transit.acted |= decision.acted.bits();
  if (transit.logged) ledger_.amend(slot_of(transit), decision.acted);
  entry.due = decision.release;
  if (decision.overtakes) [[unlikely]] {
    place_overtaking(entry, decision, at);
  } else {
    delay_.add((decision.release - transit.in()).count());
    queue_.push(decision.line, entry, at);
  }
  waiting.pop();
  waiting.rewind();
  --waiting_frames_;
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::find_departure() noexcept {
  next_departure_ = Queue::kNever;
  for (const std::size_t place : pipeline_.queueing())
    next_departure_ = std::min(next_departure_, pipeline_.rules()[place].next_departure());
  for (const auto& queue : pipeline_.shared_queues())
    next_departure_ = std::min(next_departure_, queue->frames.next_event());
}

}  // namespace lw::emulator
