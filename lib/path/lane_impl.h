// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// lane.h's other half: what becomes of a frame.
#include "path/lane.h"

namespace lw::path {

template <class Handle, FrameAccess<Handle> Frames>
Lane<Handle, Frames>::Lane(Pipeline pipeline, const LaneConfig& config, LedgerSink* sink,
                           Frames frames)
    : pipeline_(std::move(pipeline)),
      frames_(std::move(frames)),
      queue_(Pipeline::kMostLines, pipeline_.lines(), config.capacity),
      egress_(config.egress_capacity),
      egress_transits_(config.egress_capacity),
      ledger_(sink, config.log_all, pipeline_.direction(),
              config.capacity + std::bit_ceil(config.egress_capacity)),
      rules_(std::max(config.most_rules, pipeline_.rule_names().size()) + 1) {
  held_ = std::move(Standby(pipeline_).held);
}

template <class Handle, FrameAccess<Handle> Frames>
Lane<Handle, Frames>::Standby::Standby(Pipeline next) : pipeline(std::move(next)) {
  held.assign(pipeline.rule_names().size(), Held<Entry>(0, Duration{}));
  for (std::size_t i = 0; i < pipeline.rules().size(); ++i) {
    const ReorderConfig reorder = pipeline.configs()[i].reorder.value_or(ReorderConfig{});
    held[pipeline.rules()[i].index()] = Held<Entry>(reorder.frames, reorder.at_most);
  }
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::replace(Standby& next, Instant now) noexcept {
  next.pipeline.inherit(pipeline_, now);
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (held_[i].empty()) continue;
    if (held_[i].same_as(next.held[i])) {
      std::swap(held_[i], next.held[i]);
      continue;
    }
    // Nobody will overtake them any more.
    for (; !held_[i].empty(); held_[i].pop(), --held_frames_) {
      const Entry entry = held_[i].front();
      (void)queue_.push(kWheel, entry, now);
    }
  }
  std::swap(pipeline_, next.pipeline);
  std::swap(held_, next.held);
  queue_.use(pipeline_.lines());
  find_deadline();
}

template <class Handle, FrameAccess<Handle> Frames>
bool Lane<Handle, Frames>::admit(Handle handle, const roce::Envelope& envelope, Instant now,
                                 LedgerRecord* told) noexcept {
  const Arrival arrival = arrival_of(envelope, received_++, now);
  const Decision decision = pipeline_.decide(arrival);
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

/// Copies are of the frame as it is corrupted, but not of what the stages behind make of it.
template <class Handle, FrameAccess<Handle> Frames>
bool Lane<Handle, Frames>::admit_with_copies(Handle handle, const Arrival& arrival,
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
      refuse(Want::no_buffer, Fate::no_buffer, as_it_came, decision, copy);
    }
  }
  return kept;
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::admit_copy(Handle handle, const Arrival& arrival,
                                      const Decision& original, std::uint8_t copy) noexcept {
  const Decision decision = pipeline_.rule(original.rule).decide_copy(arrival, original, copy);
  if (!settle(handle, arrival, decision, copy)) frames_.free(handle);
}

/// Puts a decision into effect. False: the frame is dropped.
template <class Handle, FrameAccess<Handle> Frames>
bool Lane<Handle, Frames>::settle(Handle handle, const Arrival& arrival, const Decision& decision,
                                  std::uint8_t copy) noexcept {
  if (decision.action == Action::drop) {
    direction_.dropped_by_rule.add(arrival.bytes);
    of(decision.rule).dropped_by_rule.add(arrival.bytes);
    ledger_.log(ledger_.open(arrival, decision, copy), Fate::dropped);
    if (copy == 0) refusal_ = Fate::dropped;
    return false;
  }
  const bool queued = decision.action != Action::pass;
  if (queued && queue_room() == 0) [[unlikely]]
    return refuse(Want::no_room, Fate::no_room, arrival, decision, copy);
  if (!queued && egress_.room() == 0) [[unlikely]]
    return refuse(Want::egress_full, Fate::egress_full, arrival, decision, copy);
  if ((decision.corrupt || decision.mark) && frames_.writable(handle).empty()) [[unlikely]]
    return refuse(Want::no_buffer, Fate::no_buffer, arrival, decision, copy);
  Transit transit{.in = arrival.now,
                  .due = queued ? decision.release : arrival.now,
                  .number = arrival.number,
                  .bytes = arrival.bytes,
                  .rule = decision.rule,
                  .queued = queued,
                  .copy = copy,
                  .acted = decision.acted,
                  .aimed = decision.aimed};
  if (ledger_.wants(decision))
    transit.ledger_slot = ledger_.keep(ledger_.open(arrival, decision, copy));
  if (decision.corrupt) [[unlikely]]
    pipeline_.rule(decision.rule).corrupt(frames_.writable(handle), arrival);
  if (decision.mark) [[unlikely]]
    set_congestion_experienced(frames_.writable(handle), arrival.envelope);
  place({transit, handle}, decision, arrival.now);
  return true;
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::place(const Entry& entry, const Decision& decision,
                                 Instant now) noexcept {
  if (decision.overtakes) [[unlikely]]
    return place_overtaking(entry, decision, now);
  if (!entry.transit.queued) return let_out(entry);
  // There is room: settle() looked.
  (void)queue_.push(decision.line, entry, now);
}

/// Frames that wait for this one to overtake them leave right behind it.
template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::place_overtaking(const Entry& entry, const Decision& decision,
                                            Instant now) noexcept {
  Held<Entry>& held = held_[decision.rule];
  held.gone_on();
  if (decision.action == Action::hold) {
    held.hold(entry);
    ++held_frames_;
  } else {
    (void)queue_.push(decision.line, entry, now);
  }
  for (; !held.empty() && held.overtaken(); held.pop(), --held_frames_) {
    Entry next = held.front();
    next.transit.due = std::max(next.transit.due, decision.release);
    (void)queue_.push(decision.line, next, now);
  }
  find_deadline();
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::find_deadline() noexcept {
  next_deadline_ = Queue::kNever;
  for (const Held<Entry>& held : held_)
    if (!held.empty()) next_deadline_ = std::min(next_deadline_, held.deadline());
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::let_out(const Entry& entry) noexcept {
  egress_.push(entry.handle);
  egress_transits_.push(entry.transit);
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::release(Instant now, std::size_t spare) noexcept {
  while (queue_.next() <= now && egress_.room() > spare) {
    let_out(queue_.front());
    queue_.pop();
  }
  if (next_deadline_ <= now) [[unlikely]]
    let_out_held(now, spare);
}

/// Nobody came to overtake them.
template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::let_out_held(Instant now, std::size_t spare) noexcept {
  for (Held<Entry>& held : held_) {
    for (; !held.empty() && held.deadline() <= now && egress_.room() > spare; held.pop()) {
      Entry entry = held.front();
      entry.transit.due = held.deadline();
      let_out(entry);
      --held_frames_;
    }
  }
  find_deadline();
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::sent(std::size_t count, Instant now) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const Transit& transit = egress_transits_[i];
    direction_.sent.add(transit.bytes);
    of(transit.rule).sent.add(transit.bytes);
    (transit.queued ? release_error_ : pass_latency_).add((now - transit.due).count());
    if (transit.ledger_slot != kNotLogged) ledger_.close(transit.ledger_slot, now);
  }
  egress_.pop(count);
  egress_transits_.pop(count);
}

}  // namespace lw::path
