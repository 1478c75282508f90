// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link.h: a link's configuration, its pauses, and what its other parts share.
#include <algorithm>
#include <utility>

#include "emulator/link.h"

namespace lw::emulator {

inline void add(Counters& counters, const Amount& amount) noexcept {
  counters.frames.add(amount.frames);
  counters.bytes.add(amount.bytes);
}

/// Requires a logged frame.
inline std::uint32_t slot_of(const Transit& transit) noexcept { return transit.number_or_slot; }

inline void fill(Transit& transit, const IngressFrame& arrival, const Decision& decision,
                 std::uint8_t copy, std::uint32_t ledger_slot) noexcept {
  const bool logged = ledger_slot != kNotLogged;
  transit.in_ns = to_ns(arrival.now);
  transit.number_or_slot = logged ? ledger_slot : static_cast<std::uint32_t>(arrival.number);
  transit.logged = logged;
  transit.logged_late = false;  // a buffer's Transit has what its last frame left there
  transit.copy = copy;
  transit.set_frames(1);
  transit.set_bytes(arrival.bytes);
  transit.rule = decision.rule % (1U << Transit::kRuleBits);
  transit.acted = decision.acted.bits();
  transit.aimed = static_cast<std::uint64_t>(decision.aimed) % 8;
  transit.queued = decision.action != Action::pass;
}

/// True if a frame that is not dropped is in its rule's queue.
inline bool is_in_queue(const Decision& decision) noexcept {
  return decision.acted.has(Stage::queue);
}

template <class Handle, FrameAccess<Handle> Frames>
Link<Handle, Frames>::Link(Pipeline pipeline, const LinkConfig& config, LedgerSink* sink,
                           Frames frames)
    : pipeline_(std::move(pipeline)),
      frames_(std::move(frames)),
      queue_(Pipeline::kMostFifos, pipeline_.lines(), config.capacity),
      egress_(config.egress_capacity),
      leaving_(config.egress_capacity),
      leaving_bth_(sink ? egress_.capacity() : 0),
      ledger_(sink, config.log_all, pipeline_.direction(),
              config.capacity + std::bit_ceil(config.egress_capacity)),
      rules_(std::max(config.most_rules, pipeline_.rule_names().size()) + 1),
      inside_(rules_.size()) {
  held_ = held_of(pipeline_);
  waiting_ = waiting_of(pipeline_);
  pauses_.reserve(rules_.size());
  share_counters();
}

/// Shows each rule the number of its frames inside, if a rule limits them.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::share_counters() noexcept {
  const bool before = std::exchange(
      limits_, std::ranges::any_of(pipeline_.configs(),
                                   [](const RuleConfig& rule) { return rule.limit.has_value(); }));
  if (!limits_) return;
  if (!before) count_inside();
  for (Rule& rule : pipeline_.rules()) rule.use(inside_of(rule.index()));
}

/// Counts the frames that wait or are delayed, from the accounts: those inside, but for those in
/// the egress buffer.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::count_inside() noexcept {
  for (std::size_t i = 0; i < inside_.size(); ++i) inside_[i] = rules_[i].frames_inside();
  for (std::size_t i = 0; i < leaving_.size(); ++i)
    inside_of(leaving_[i].transit.rule_index()) -= leaving_[i].transit.frames();
}

/// Returns how a rule holds frames: for its stage reorder, or accumulate.
inline HoldConfig hold_of(const RuleConfig& rule) noexcept {
  if (rule.accumulate) return {rule.accumulate->frames, rule.accumulate->time, true};
  const ReorderConfig reorder = rule.reorder.value_or(ReorderConfig{});
  return {reorder.frames, reorder.at_most, false};
}

template <class Handle, FrameAccess<Handle> Frames>
auto Link<Handle, Frames>::held_of(const Pipeline& pipeline) -> std::vector<Held<Entry>> {
  std::vector<Held<Entry>> held;
  const std::size_t names = pipeline.rule_names().size();
  while (held.size() < names) held.emplace_back(HoldConfig{});
  for (std::size_t i = 0; i < pipeline.rules().size(); ++i)
    held[pipeline.rules()[i].index()] = Held<Entry>(hold_of(pipeline.configs()[i]));
  return held;
}

template <class Handle, FrameAccess<Handle> Frames>
Link<Handle, Frames>::PreparedPipeline::PreparedPipeline(Pipeline next)
    : pipeline(std::move(next)), held(held_of(pipeline)), waiting(waiting_of(pipeline)) {}

/// Largest number of frames of a rule in its queue; `rule` may be null.
inline std::size_t most_waiting(const RuleConfig* rule) noexcept {
  if (!rule || !emulator::Queue::present(*rule)) return 0;
  return RulesQueue::Frames::most_inside(emulator::Queue::use_of(*rule).queue);
}

template <class Handle, FrameAccess<Handle> Frames>
auto Link<Handle, Frames>::waiting_of(const Pipeline& pipeline) -> std::vector<Ring<Entry>> {
  std::vector<Ring<Entry>> waiting;
  const std::size_t names = pipeline.rule_names().size();
  waiting.reserve(names);
  for (std::size_t i = 0; i < names; ++i) {
    waiting.emplace_back(most_waiting(pipeline.config_of(static_cast<RuleIndex>(i))));
  }
  return waiting;
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::replace(PreparedPipeline& next, Instant now) noexcept {
  depart(now);
  for (Rule& rule : pipeline_.rules())
    if (rule.knows_release()) take_back(rule);
  for (const auto& queue : pipeline_.queues()) depart_ahead(*queue, next.pipeline, now);
  next.pipeline.inherit(pipeline_, now);
  for (std::size_t i = 0; i < waiting_.size(); ++i) next.waiting[i].take_over(waiting_[i]);
  std::swap(waiting_, next.waiting);
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (held_[i].empty()) continue;
    if (held_[i].config() == next.held[i].config()) {
      std::swap(held_[i], next.held[i]);
      continue;
    }
    // No frames will overtake them any more, or complete their group.
    const Instant last = held_[i].last().due;
    for (; !held_[i].empty(); held_[i].pop(), --held_frames_) {
      Entry entry = held_[i].front();
      if (held_[i].config().in_groups) entry.due = last;
      queue_.push(kWheel, entry, now);
    }
  }
  std::swap(pipeline_, next.pipeline);
  std::swap(held_, next.held);
  queue_.use(pipeline_.lines());
  share_counters();
  next_ask_ = Queue::kNever;
  for (const std::size_t place : pipeline_.asking())
    next_ask_ = std::min(next_ask_, pipeline_.rules()[place].queue_stage().next_ask());
  find_departure();
  find_deadline();
}

template <class Handle, FrameAccess<Handle> Frames>
auto Link<Handle, Frames>::room_for(std::size_t capacity) const -> Room {
  return {Queue(Pipeline::kMostFifos, 1, capacity),
          ledger_.active() ? Ledger::room_for(capacity + egress_.capacity()) : Ledger::Room{}};
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::grow(Room& room, Frames frames, Instant now) noexcept {
  room.queue.take_over(queue_, now);
  std::swap(queue_, room.queue);
  ledger_.grow(room.ledger);
  frames_ = std::move(frames);
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::pause(const wire::PfcFields& asked, Instant now) noexcept {
  depart(now);
  for (const std::size_t place : pipeline_.listening()) pipeline_.rules()[place].pause(asked, now);
  find_departure();
}

template <class Handle, FrameAccess<Handle> Frames>
std::span<const wire::PfcFields> Link<Handle, Frames>::asks_for(Instant now) noexcept {
  depart(now);
  pauses_.clear();
  next_ask_ = Queue::kNever;
  for (const std::size_t place : pipeline_.asking()) {
    Rule& rule = pipeline_.rules()[place];
    const auto quanta = rule.queue_stage().asks_for(now);
    if (quanta && (*quanta > 0 || !pipeline_.pausing_beside(place))) {
      rule.count_pause(*quanta);
      pauses_.emplace_back().quanta[rule.queue_stage().priority()] = quanta;
    }
    next_ask_ = std::min(next_ask_, rule.queue_stage().next_ask());
  }
  return pauses_;
}

template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::create(Handle handle, std::uint32_t bytes, Instant now) noexcept {
  direction_.created.add(bytes);
  counters_of(kUntouched).created.add(bytes);
  if (egress_.room() == 0) {
    count_want(ResourceDrop::egress_full, kUntouched, bytes);
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

}  // namespace lw::emulator
