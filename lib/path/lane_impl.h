// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// lane.h's other half: what becomes of a frame.
#include <utility>

#include "path/lane.h"
#include "roce/plain_rocev2.h"

namespace lw::path {

inline void add(Tally& tally, const Amount& amount) noexcept {
  tally.frames.add(amount.frames);
  tally.bytes.add(amount.bytes);
}

/// Only of a logged frame.
inline std::uint32_t slot_of(const Transit& transit) noexcept {
  return static_cast<std::uint32_t>(transit.number_or_slot);
}

inline void fill(Transit& transit, const Arrival& arrival, const Decision& decision,
                 std::uint8_t copy, std::uint32_t ledger_slot) noexcept {
  constexpr std::uint64_t kNumber = (std::uint64_t{1} << Transit::kNumberBits) - 1;
  const bool logged = ledger_slot != kNotLogged;
  transit.in = arrival.now;
  transit.number_or_slot = (logged ? ledger_slot : arrival.number) & kNumber;
  transit.logged = logged;
  transit.copy = copy;
  transit.bytes = arrival.bytes;
  transit.rule = decision.rule;
  transit.acted = decision.acted.bits() & 0xfff;
  transit.aimed = decision.aimed;
  transit.queued = decision.action != Action::pass;
}

template <class Handle, FrameAccess<Handle> Frames>
Lane<Handle, Frames>::Lane(Pipeline pipeline, const LaneConfig& config, LedgerSink* sink,
                           Frames frames)
    : pipeline_(std::move(pipeline)),
      frames_(std::move(frames)),
      queue_(Pipeline::kMostLines, pipeline_.lines(), config.capacity),
      egress_(config.egress_capacity),
      leaving_(config.egress_capacity),
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
      queue_.push(kWheel, entry, now);
    }
  }
  std::swap(pipeline_, next.pipeline);
  std::swap(held_, next.held);
  queue_.use(pipeline_.lines());
  next_ask_ = Queue::kNever;
  find_deadline();
}

template <class Handle, FrameAccess<Handle> Frames>
bool Lane<Handle, Frames>::admit(Handle handle, const roce::Envelope& envelope, Instant now,
                                 LedgerRecord* told) noexcept {
  const Arrival arrival = arrival_of(envelope, received_++, now);
  return carry_out(handle, arrival, pipeline_.decide(arrival), told);
}

template <class Handle, FrameAccess<Handle> Frames>
bool Lane<Handle, Frames>::carry_out(Handle handle, const Arrival& arrival,
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
std::size_t Lane<Handle, Frames>::admit(std::span<const Handle> frames, Instant now,
                                        std::span<Handle> dropped) noexcept {
  std::size_t drops = 0;
  Rule* const rule = pipeline_.blind_rule();
  Amount queued;
  for (const Handle handle : frames) {
    const bool kept = rule && roce::is_plain_rocev2(Frames::bytes(handle))
                          ? admit_blindly(*rule, handle, Frames::length(handle), now, queued)
                          : admit(handle, Frames::open(handle), now);
    if (!kept) dropped[drops++] = handle;
  }
  if (queued.frames > 0) {
    add(direction_.received, queued);
    add(of(rule->index()).received, queued);
  }
  return drops;
}

/// Opens the frame only where more is to be done with it than to wait. Adds to `queued` what is
/// still to be counted as received.
template <class Handle, FrameAccess<Handle> Frames>
bool Lane<Handle, Frames>::admit_blindly(Rule& rule, Handle handle, std::uint32_t bytes,
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
inline void Lane<Handle, Frames>::queue(Handle handle, const Arrival& arrival,
                                        const Decision& decision, std::uint8_t copy,
                                        std::uint32_t ledger_slot) noexcept {
  Entry entry{decision.release, handle};
  fill(entry.transit(), arrival, decision, copy, ledger_slot);
  queue_.push(decision.line, entry, arrival.now);
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
void Lane<Handle, Frames>::place_overtaking(const Entry& entry, const Decision& decision,
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
void Lane<Handle, Frames>::pause(const wire::PfcFields& asked, Instant now) noexcept {
  for (const std::size_t place : pipeline_.listening()) {
    Rule& rule = pipeline_.rules()[place];
    if (const auto shift = rule.pause(asked, now); shift && shift->by != Duration{})
      queue_.shift(rule.line(), shift->after, shift->by);
  }
}

template <class Handle, FrameAccess<Handle> Frames>
std::optional<wire::PfcFields> Lane<Handle, Frames>::asks_for(Instant now) noexcept {
  std::optional<wire::PfcFields> all;
  next_ask_ = Queue::kNever;
  for (const std::size_t place : pipeline_.asking()) {
    Rule& rule = pipeline_.rules()[place];
    if (const auto quanta = rule.asks_for(now)) {
      if (!all) all.emplace();
      auto& of_priority = all->quanta[rule.priority()];
      of_priority = std::max(of_priority.value_or(0), *quanta);
    }
    next_ask_ = std::min(next_ask_, rule.next_ask());
  }
  return all;
}

template <class Handle, FrameAccess<Handle> Frames>
bool Lane<Handle, Frames>::create(Handle handle, std::uint32_t bytes, Instant now) noexcept {
  direction_.created.add(bytes);
  of(kUntouched).created.add(bytes);
  if (egress_.room() == 0) {
    count_want(Want::egress_full, kUntouched, bytes);
    return false;
  }
  static constexpr roce::Envelope kOfOurOwn{};
  Decision decision;
  decision.act(Stage::pause);
  egress_.push(handle);
  Leaving& place = leaving_.place();
  fill(place.transit, {kOfOurOwn, nullptr, received_, bytes, now}, decision, 0, kNotLogged);
  place.due = now;
  return true;
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
  Leaving& place = leaving_.place();
  place.transit = entry.transit();
  place.due = entry.due;
}

template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::release(Instant now, std::size_t spare) noexcept {
  const std::size_t room = egress_.room();
  if (room > spare)
    queue_.take_due(now, room - spare, [this](const Entry& entry) { let_out(entry); });
  if (next_deadline_ <= now) [[unlikely]]
    let_out_held(now, spare);
}

/// Nobody came to overtake them.
template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::let_out_held(Instant now, std::size_t spare) noexcept {
  for (Held<Entry>& held : held_) {
    for (; !held.empty() && held.deadline() <= now && egress_.room() > spare; held.pop()) {
      Entry entry = held.front();
      entry.due = held.deadline();
      let_out(entry);
      --held_frames_;
    }
  }
  find_deadline();
}

/// Frames of one rule are counted together, and so are those of one due time.
template <class Handle, FrameAccess<Handle> Frames>
void Lane<Handle, Frames>::sent(std::size_t count, Instant now) noexcept {
  Amount amount;
  std::uint64_t together = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [transit, due] = leaving_[i];
    amount += {1, transit.bytes};
    ++together;
    if (transit.logged) ledger_.close(slot_of(transit), now);
    const Leaving* next = i + 1 < count ? &leaving_[i + 1] : nullptr;
    if (!next || next->due != due || next->transit.queued != transit.queued) {
      (transit.queued ? release_error_ : pass_latency_)
          .add((now - due).count(), std::exchange(together, 0));
    }
    if (!next || next->transit.rule != transit.rule) {
      add(direction_.sent, amount);
      add(of(transit.rule).sent, std::exchange(amount, {}));
    }
  }
  egress_.pop(count);
  leaving_.pop(count);
}

}  // namespace lw::path
