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
  find_departure();
}

/// Lets the frames go on that depart from the queue of `rule` by `last`, which may be after `now`.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::depart_from(Rule& rule, Instant last, Instant now) noexcept {
  Ring<Entry>& waiting = waiting_[rule.index()];
  const bool opens = rule.acts_on_leaving();
  roce::Envelope envelope{};
  for (; !waiting.empty() && rule.next_departure() <= last; waiting.pop(), --waiting_frames_) {
    const Instant at = std::min(rule.next_departure(), now);
    Entry entry = waiting.front();
    Transit& transit = entry.transit();
    if (opens) envelope = roce::open_envelope(frames_.writable(entry.handle), transit.byte_count());
    const Decision decision = rule.depart(number_of(transit), transit.copy, transit.in(), envelope);
    if (decision.mark) [[unlikely]]
      roce::set_congestion_experienced(frames_.writable(entry.handle), envelope);
    transit.acted |= decision.acted.bits();
    if (transit.logged) ledger_.amend(slot_of(transit), decision.acted);
    entry.due = decision.release;
    if (decision.overtakes) [[unlikely]] {
      place_overtaking(entry, decision, at);
    } else {
      delay_.add((decision.release - transit.in()).count());
      queue_.push(decision.line, entry, at);
    }
  }
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::find_departure() noexcept {
  next_departure_ = Queue::kNever;
  for (const std::size_t place : pipeline_.queueing())
    next_departure_ = std::min(next_departure_, pipeline_.rules()[place].next_departure());
}

}  // namespace lw::emulator
