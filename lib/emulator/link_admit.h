// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link.h: frames come in, and a decision is put into effect.
#include "emulator/link.h"
#include "emulator/link_impl.h"
#include "roce/plain_rocev2.h"

namespace lw::emulator {

template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::admit(Handle handle, const roce::Envelope& envelope, Instant now,
                                 LedgerRecord* told) noexcept {
  const Arrival arrival = arrival_of(envelope, received_++, now);
  return carry_out(handle, arrival, pipeline_.decide(arrival), told);
}

template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::carry_out(Handle handle, const Arrival& arrival,
                                     const Decision& decision, LedgerRecord* told) noexcept {
  receive(decision, arrival);
  if (told) [[unlikely]]
    *told = ledger_.open(arrival, decision);
  bool kept;
  if (decision.copies > 0) [[unlikely]] {
    kept = admit_with_copies(handle, arrival, decision);
  } else {
    kept = settle(handle, arrival, decision, 0);
  }
  if (told && !kept) [[unlikely]]
    told->fate = refusal_;
  return kept;
}

template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::admit(std::span<const Handle> frames, Instant now,
                                        std::span<Handle> dropped) noexcept {
  std::size_t drops = 0;
  for (std::size_t most = Events::kMostTogether; frames.size() > most;
       frames = frames.subspan(most))
    drops += admit(frames.first(most), now, dropped.subspan(drops));
  Rule* const blind = pipeline_.header_independent_rule();
  const std::uint64_t concerned = concerned_of(frames, blind);
  if (blind && !concerned && wait_together(*blind, frames)) {
    admit_together(*blind, frames, now);
    return drops;
  }
  dropped = dropped.subspan(drops);
  return drops + (blind && !blind->acts_on_batch()
                      ? admit_one_by_one(*blind, frames, concerned, now, dropped)
                      : admit_in_runs(blind, frames, concerned, now, dropped));
}

/// Under a rule that decides about all RoCEv2 packets, but not about all alike.
template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::admit_one_by_one(Rule& blind, std::span<const Handle> frames,
                                                   std::uint64_t concerned, Instant now,
                                                   std::span<Handle> dropped) noexcept {
  std::size_t drops = 0;
  Amount queued;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Handle handle = frames[i];
    const bool kept = !(concerned >> i & 1) && roce::is_plain_rocev2(Frames::bytes(handle))
                          ? admit_blindly(blind, handle, Frames::length(handle), now, queued)
                          : admit_open(handle, now);
    if (!kept) dropped[drops++] = handle;
  }
  if (queued.frames > 0) {
    add(direction_.received, queued);
    add(of(blind.index()).received, queued);
  }
  return drops;
}

/// Of these frames those that an event may be aimed at, a bit each, where that decides whether they
/// have to be opened.
template <class Handle, FrameAccess<Handle> Frames>
std::uint64_t Link<Handle, Frames>::concerned_of(std::span<const Handle> frames,
                                                 const Rule* blind) noexcept {
  Events& events = pipeline_.events();
  if (!events.listening()) return 0;
  const auto bytes_of = [](Handle handle) { return Frames::bytes(handle); };
  if (blind) return events.look_ahead(frames, bytes_of);
  events.keep_up();
  events.fetch(frames, bytes_of);
  return 0;
}

template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::admit_open(Handle handle, Instant now) noexcept {
  const roce::Envelope envelope = Frames::open(handle);
  const Arrival arrival = arrival_of(envelope, received_++, now);
  const auto claim = pipeline_.claim(envelope, arrival.bth);
  return carry_out(handle, arrival, pipeline_.decide(arrival, claim), nullptr);
}

/// Opens the frame only where more is to be done with it than to wait. Adds to `queued` what is
/// still to be counted as received.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::admit_blindly(Rule& rule, Handle handle, std::uint32_t bytes,
                                         Instant now, Amount& queued) noexcept {
  static constexpr roce::Envelope kUnopened{};
  const Arrival unopened{kUnopened, nullptr, received_++, bytes, now};
  const Decision decision = rule.decide(unopened);
  const bool just_waits = decision.action == Action::queue && !decision.corrupt &&
                          decision.copies == 0 && !decision.overtakes && !ledger_.wants(decision) &&
                          queue_room() > 0;
  if (!just_waits) [[unlikely]]
    return carry_out(handle, arrival_of(Frames::open(handle), unopened.number, now), decision,
                     nullptr);
  queue(handle, unopened, decision, 0, kNotLogged);
  queued += {1, bytes};
  return true;
}

/// Only where there is room.
template <class Handle, FrameAccess<Handle> Frames>
inline void Link<Handle, Frames>::queue(Handle handle, const Arrival& arrival,
                                        const Decision& decision, std::uint8_t copy,
                                        std::uint32_t ledger_slot) noexcept {
  Entry entry{decision.release, handle};
  fill(entry.transit(), arrival, decision, copy, ledger_slot);
  queue_.push(decision.line, entry, arrival.now);
}

/// Copies are of the frame as it is corrupted, but not of what the stages behind make of it.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::admit_with_copies(Handle handle, const Arrival& arrival,
                                             const Decision& decision) noexcept {
  // The ledger names the frame as it came.
  const wire::Bth came = arrival.bth ? *arrival.bth : wire::Bth{};
  const Arrival as_it_came{arrival.envelope, arrival.bth ? &came : nullptr, arrival.number,
                           arrival.bytes, arrival.now};
  Decision rest = decision;
  if (decision.corrupt) {
    pipeline_.rule(decision.rule).corrupt(frames_.writable(handle), arrival);
    rest.corrupt = false;
  }
  std::array<std::optional<Handle>, 256> clones;  // as many as `copies` can say
  for (unsigned i = 0; i < decision.copies; ++i) clones[i] = frames_.clone(handle);
  const bool kept = settle(handle, as_it_came, rest, 0);
  for (unsigned i = 0; i < decision.copies; ++i) {
    const auto copy = static_cast<std::uint8_t>(i + 1);
    direction_.created.add(arrival.bytes);
    of(decision.rule).created.add(arrival.bytes);
    if (clones[i]) {
      admit_copy(*clones[i], as_it_came, decision, copy);
    } else {
      refuse(ResourceDrop::no_buffer, Disposition::no_buffer, as_it_came, decision, copy);
    }
  }
  return kept;
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::admit_copy(Handle handle, const Arrival& arrival,
                                      const Decision& original, std::uint8_t copy) noexcept {
  const Decision decision = pipeline_.rule(original.rule).decide_copy(arrival, original, copy);
  if (!settle(handle, arrival, decision, copy)) frames_.free(handle);
}

/// Puts a decision into effect. False: the frame is dropped.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::settle(Handle handle, const Arrival& arrival, const Decision& decision,
                                  std::uint8_t copy) noexcept {
  if (decision.action == Action::drop) {
    direction_.dropped_by_rule.add(arrival.bytes);
    of(decision.rule).dropped_by_rule.add(arrival.bytes);
    ledger_.log(ledger_.open(arrival, decision, copy), Disposition::dropped);
    if (copy == 0) refusal_ = Disposition::dropped;
    return false;
  }
  const bool queued = decision.action != Action::pass;
  if (queued && queue_room() == 0) [[unlikely]]
    return refuse(ResourceDrop::no_room, Disposition::no_room, arrival, decision, copy);
  if (!queued && egress_.room() == 0) [[unlikely]]
    return refuse(ResourceDrop::egress_full, Disposition::egress_full, arrival, decision, copy);
  if ((decision.corrupt || decision.mark) && frames_.writable(handle).empty()) [[unlikely]]
    return refuse(ResourceDrop::no_buffer, Disposition::no_buffer, arrival, decision, copy);
  std::uint32_t ledger_slot = kNotLogged;
  if (ledger_.wants(decision)) ledger_slot = ledger_.keep(ledger_.open(arrival, decision, copy));
  if (decision.corrupt) [[unlikely]]
    pipeline_.rule(decision.rule).corrupt(frames_.writable(handle), arrival);
  if (decision.mark) [[unlikely]]
    set_congestion_experienced(frames_.writable(handle), arrival.envelope);
  if (decision.overtakes) [[unlikely]] {
    Entry entry{decision.release, handle};
    fill(entry.transit(), arrival, decision, copy, ledger_slot);
    place_overtaking(entry, decision, arrival.now);
  } else if (queued) {
    queue(handle, arrival, decision, copy, ledger_slot);
  } else {
    egress_.push(handle);
    Leaving leaving{{}, arrival.now};
    fill(leaving.transit, arrival, decision, copy, ledger_slot);
    leaving_.push(leaving);
  }
  return true;
}

/// Frames that wait for this one to overtake them leave right behind it.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::place_overtaking(const Entry& entry, const Decision& decision,
                                            Instant now) noexcept {
  Held<Entry>& held = held_[decision.rule];
  held.gone_on();
  if (decision.action == Action::hold) {
    held.hold(entry);
    ++held_frames_;
  } else {
    queue_.push(decision.line, entry, now);
  }
  for (; !held.empty() && held.overtaken(); held.pop(), --held_frames_) {
    Entry next = held.front();
    next.due = std::max(next.due, decision.release);
    queue_.push(decision.line, next, now);
  }
  find_deadline();
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::find_deadline() noexcept {
  next_deadline_ = Queue::kNever;
  for (const Held<Entry>& held : held_)
    if (!held.empty()) next_deadline_ = std::min(next_deadline_, held.deadline());
}

}  // namespace lw::emulator
