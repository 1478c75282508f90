// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link.h: frames come in, and a decision is put into effect.
#include "emulator/link.h"
#include "emulator/link_impl.h"

namespace lw::emulator {

template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::admit(Handle handle, const roce::Envelope& envelope, Instant now,
                                 LedgerRecord* record) noexcept {
  depart(now);
  if (limits_) [[unlikely]]
    release(now, 1);
  const IngressFrame arrival = arrival_of(envelope, received_++, now);
  Decision decision = pipeline_.decide(arrival);
  release_on_arrival(decision);
  return apply(handle, arrival, decision, record);
}

template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::apply(Handle handle, const IngressFrame& arrival,
                                 const Decision& decision, LedgerRecord* record) noexcept {
  receive(decision, arrival);
  if (record) [[unlikely]]
    *record = ledger_.open(arrival, decision);
  bool kept;
  if (decision.copies > 0) [[unlikely]] {
    kept = admit_with_copies(handle, arrival, decision);
  } else {
    kept = finalize(handle, arrival, decision, 0);
  }
  if (record && !kept) [[unlikely]]
    record->disposition = refusal_;
  return kept;
}

/// Admits a frame under a header-independent rule. Opens the frame only if it does more than wait.
/// Adds the frame to `queued` if it is still to be counted as received.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::admit_unopened(Rule& rule, Handle handle, Instant now,
                                          Amount& queued) noexcept {
  static constexpr roce::Envelope kUnopened{};
  const IngressFrame unopened{kUnopened, nullptr, received_++, Frames::length(handle), now};
  Decision decision = rule.decide(unopened);
  release_on_arrival(decision);
  const bool stays = decision.action == Action::queue || decision.action == Action::wait;
  const bool just_waits = stays && !decision.corrupt && decision.copies == 0 &&
                          !decision.overtakes && !ledger_.wants(decision) && queue_room() > 0;
  if (!just_waits) [[unlikely]]
    return apply(handle, arrival_of(Frames::open(handle), unopened.number, now), decision, nullptr);
  enter(stored(handle, unopened, decision, 0), unopened, decision, 0, kNotLogged);
  queued += {1, unopened.bytes};
  return true;
}

/// Adds a frame to its rule's queue, or to the release queue. Requires room.
template <class Handle, FrameAccess<Handle> Frames>
inline void Link<Handle, Frames>::enter(Handle handle, const IngressFrame& arrival,
                                        const Decision& decision, std::uint8_t copy,
                                        std::uint32_t ledger_slot) noexcept {
  Entry entry{decision.release, handle};
  fill(entry.transit(), arrival, decision, copy, ledger_slot);
  if (limits_) [[unlikely]]
    ++inside_of(decision.rule);
  if (is_in_queue(decision)) {
    const RulesQueue* const queue = pipeline_.rule(decision.rule).queue();
    next_departure_ = std::min(next_departure_, queue->frames.next_event());
  } else {
    delay_.add((decision.release - arrival.now).count());
  }
  if (decision.action == Action::wait) {
    waiting_[decision.rule].push(entry);
    ++waiting_frames_;
    return;
  }
  queue_.push(decision.line, entry, arrival.now);
}

/// Copies include the frame's corruption, but not the effects of later stages.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::admit_with_copies(Handle handle, const IngressFrame& arrival,
                                             const Decision& decision) noexcept {
  // The ledger logs the frame as it came in, and the copies' stages see its IP header: that of the
  // frame itself may be marked by then.
  const wire::Bth came = arrival.bth ? *arrival.bth : wire::Bth{};
  const wire::Ipv4 ipv4 = arrival.envelope.ipv4 ? *arrival.envelope.ipv4 : wire::Ipv4{};
  const wire::Ipv6 ipv6 = arrival.envelope.ipv6 ? *arrival.envelope.ipv6 : wire::Ipv6{};
  roce::Envelope envelope = arrival.envelope;
  if (envelope.ipv4) envelope.ipv4 = &ipv4;
  if (envelope.ipv6) envelope.ipv6 = &ipv6;
  const IngressFrame as_it_came{envelope, arrival.bth ? &came : nullptr, arrival.number,
                                arrival.bytes, arrival.now};
  Decision rest = decision;
  if (decision.corrupt) {
    pipeline_.rule(decision.rule).corrupt(frames_.writable(handle), arrival);
    rest.corrupt = false;
  }
  std::array<std::optional<Handle>, 256> clones;  // as many as `copies` can express
  for (unsigned i = 0; i < decision.copies; ++i) clones[i] = frames_.clone(handle);
  const bool kept = finalize(handle, as_it_came, rest, 0);
  for (unsigned i = 0; i < decision.copies; ++i) {
    const auto copy = static_cast<std::uint8_t>(i + 1);
    direction_.created.add(arrival.bytes);
    counters_of(decision.rule).created.add(arrival.bytes);
    if (clones[i]) {
      admit_copy(*clones[i], as_it_came, decision, copy);
    } else {
      refuse(ResourceDrop::no_buffer, Disposition::no_buffer, as_it_came, decision, copy);
    }
  }
  return kept;
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::admit_copy(Handle handle, const IngressFrame& arrival,
                                      const Decision& original, std::uint8_t copy) noexcept {
  Decision decision = pipeline_.rule(original.rule).decide_copy(arrival, original, copy);
  release_on_arrival(decision);
  if (!finalize(handle, arrival, decision, copy)) frames_.free(handle);
}

/// Moves the frame to the memory in which it waits. A frame with copies is not moved, because the
/// copies' arrival refers to its bytes; nor is one that may be changed later.
template <class Handle, FrameAccess<Handle> Frames>
inline Handle Link<Handle, Frames>::stored(Handle handle, const IngressFrame& arrival,
                                           const Decision& decision, std::uint8_t copy) noexcept {
  if (decision.copies > 0 && copy == 0) return handle;
  if (decision.action == Action::wait && pipeline_.rule(decision.rule).acts_on_leaving())
    return handle;
  return stored(std::span<const Handle>(&handle, 1), decision.release - arrival.now).front();
}

/// Applies a decision to a frame or a copy. Returns false if the frame is dropped.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::finalize(Handle handle, const IngressFrame& arrival,
                                    const Decision& decision, std::uint8_t copy) noexcept {
  if (decision.action == Action::drop) {
    direction_.dropped_by_rule.add(arrival.bytes);
    counters_of(decision.rule).dropped_by_rule.add(arrival.bytes);
    ledger_.log(ledger_.open(arrival, decision, copy), Disposition::dropped);
    if (copy == 0) refusal_ = Disposition::dropped;
    return false;
  }
  const bool queued = decision.action != Action::pass;
  const auto refuse_it = [&](ResourceDrop want, Disposition disposition) {
    if (is_in_queue(decision)) {
      pipeline_.rule(decision.rule).withdraw();
      find_departure();  // its place is still to depart
    }
    return refuse(want, disposition, arrival, decision, copy);
  };
  if (queued && queue_room() == 0) [[unlikely]]
    return refuse_it(ResourceDrop::no_room, Disposition::no_room);
  if (!queued && egress_.room() == 0) [[unlikely]]
    return refuse_it(ResourceDrop::egress_full, Disposition::egress_full);
  const bool edits = decision.edits() || (decision.action == Action::wait &&
                                          pipeline_.rule(decision.rule).acts_on_leaving());
  if (edits && frames_.writable(handle).empty()) [[unlikely]]
    return refuse_it(ResourceDrop::no_buffer, Disposition::no_buffer);
  std::uint32_t ledger_slot = kNotLogged;
  if (ledger_.wants(decision)) ledger_slot = ledger_.keep(ledger_.open(arrival, decision, copy));
  if (decision.corrupt) [[unlikely]]
    pipeline_.rule(decision.rule).corrupt(frames_.writable(handle), arrival);
  if (decision.rewrite.mask != 0) [[unlikely]]
    roce::set_traffic_class(frames_.writable(handle), arrival.envelope, decision.rewrite.mask,
                            decision.rewrite.value);
  if (decision.mark) [[unlikely]]
    roce::set_congestion_experienced(frames_.writable(handle), arrival.envelope);
  if (queued) handle = stored(handle, arrival, decision, copy);
  if (decision.overtakes) [[unlikely]] {
    Entry entry{decision.release, handle};
    fill(entry.transit(), arrival, decision, copy, ledger_slot);
    if (limits_) ++inside_of(decision.rule);
    place_overtaking(entry, decision, arrival.now);
  } else if (queued) {
    enter(handle, arrival, decision, copy, ledger_slot);
  } else {
    egress_.push(handle);
    Leaving leaving{{}, arrival.now};
    fill(leaving.transit, arrival, decision, copy, ledger_slot);
    leaving_.push(leaving);
  }
  return true;
}

/// Adds a frame that overtakes held frames. Held frames that are now overtaken often enough leave
/// right after it.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::place_overtaking(const Entry& entry, const Decision& decision,
                                            Instant now) noexcept {
  Held<Entry>& held = held_[decision.rule];
  if (held.config().in_groups) return gather(held, entry, decision.rule, now);
  delay_.add((decision.release - entry.transit().in()).count());
  held.gone_on();
  if (decision.action == Action::hold) {
    held.hold(entry);
    ++held_frames_;
  } else {
    queue_.push(decision.line, entry, now);
  }
  for (; !held.empty(); held.pop(), --held_frames_) {
    // A frame may have stood behind one with a later deadline until its own had passed.
    const bool is_late = held.deadline() <= now;
    if (!is_late && !held.overtaken()) break;
    Entry next = held.front();
    next.due = is_late ? now : std::min(held.deadline(), std::max(next.due, decision.release));
    queue_.push(decision.line, next, now);
  }
  find_deadline();
}

/// Adds a frame to its rule's group. A group leaves when it is complete, and no frame joins one
/// that must have left before the frame is due.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::gather(Held<Entry>& held, const Entry& entry, RuleIndex rule,
                                  Instant now) noexcept {
  if (!held.empty() && entry.due > held.deadline()) close_group(held, held.deadline(), rule, now);
  held.hold(entry);
  ++held_frames_;
  if (held.full()) {
    Instant last = held.deadline() - held.config().at_most;
    for (std::size_t i = 0; i < held.size(); ++i) last = std::max(last, held[i].due);
    close_group(held, last, rule, now);
  }
  find_deadline();
}

/// Lets the frames of a group leave together at `at`.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::close_group(Held<Entry>& held, Instant at, RuleIndex rule,
                                       Instant now) noexcept {
  const Instant first = held.deadline() - held.config().at_most;
  pipeline_.rule(rule).count_group(held.size(), held.full(), at - first);
  for (; !held.empty(); held.pop(), --held_frames_) {
    Entry entry = held.front();
    entry.due = at;
    delay_.add((at - entry.transit().in()).count());
    queue_.push(kWheel, entry, now);
  }
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::find_deadline() noexcept {
  next_deadline_ = Queue::kNever;
  for (const Held<Entry>& held : held_)
    if (!held.empty()) next_deadline_ = std::min(next_deadline_, held.deadline());
}

}  // namespace lw::emulator
