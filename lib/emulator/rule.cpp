// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/rule.h"

#include <algorithm>
#include <cmath>

namespace lw::emulator {
namespace {

bool is_plain(const RuleConfig& c) noexcept {
  return !c.outage && !c.police && !c.corrupt && !c.duplicate && !c.mark && !c.varies() &&
         !c.reorder;
}

/// Nothing but a delay, constant or drawn.
bool only_waits(const RuleConfig& c) noexcept {
  return c.delays() && !c.outage && !c.police && !loses(c.loss) && !c.corrupt && !c.duplicate &&
         !c.mark && !c.queue && !c.trace && !c.reorder;
}

/// What the ledger calls it where events ask for several things at once.
EventAction foremost(const EventActions& aimed) noexcept {
  if (aimed.corrupt) return EventAction::corrupt;
  if (aimed.copies > 0) return EventAction::duplicate;
  return aimed.mark ? EventAction::mark : EventAction::delay;
}

/// How long a bucket that can't pay for a frame takes to fill up, whatever the frame's length.
Duration time_to_fill(const PoliceConfig& police) noexcept {
  constexpr double kLargestCost = 16'384;
  const double bytes = static_cast<double>(police.burst_bytes) - kLargestCost;
  return Duration{static_cast<Duration::rep>(std::max(0.0, bytes * 8e9 / police.rate_bps))};
}

}  // namespace

Rule::Rule(const RuleConfig& config, Direction direction, std::uint64_t seed, RuleIndex index,
           RuleLines lines)
    : index_(index),
      lines_(lines),
      plain_(is_plain(config)),
      only_waits_(emulator::only_waits(config)),
      keep_order_(config.keep_order),
      delays_(config.delays()),
      corrupts_(config.corrupt.has_value()),
      outage_(config.outage),
      delay_(config.delay),
      corrupter_(config.corrupt.value_or(CorruptConfig{}),
                 chance_of(seed, direction, config.name, Stage::corrupt)),
      traced_loss_(chance_of(seed, direction, config.name, Stage::loss)) {
  const auto chance = [&](Stage stage) { return chance_of(seed, direction, config.name, stage); };
  if (config.police) {
    police_.emplace(*config.police);
    police_overhead_ = config.police->overhead;
    police_soon_ = time_to_fill(*config.police);
  }
  if (loses(config.loss)) loss_.emplace(config.loss, chance(Stage::loss));
  if (config.duplicate) duplicate_.emplace(*config.duplicate, chance(Stage::duplicate));
  if (config.mark) {
    mark_.emplace(*config.mark, chance(Stage::mark));
    red_ = config.mark->red;
  }
  if (config.queue) {
    queue_.emplace(*config.queue);
    queue_overhead_ = config.queue->overhead;
    queue_bps_ = config.queue->rate_bps;
    pfc_ = config.queue->pfc;
    if (pfc_ && pfc_->emit) watch_.emplace(*pfc_);
  }
  if (config.jitter) {
    jitter_.emplace(*config.jitter, chance(Stage::delay));
    fit_.emplace(config.jitter->distribution);
    if (config.jitter->half_life) stats_.wander = WanderStats(*config.jitter->half_life);
  }
  if (config.trace) {
    trace_.emplace(*config.trace);
    stats_.rows.resize(config.trace->rows.size());
  }
  if (config.reorder) reorder_.emplace(*config.reorder, chance(Stage::reorder));
}

bool Rule::is_lost(const Arrival& arrival, const TraceConfig::Row* row) noexcept {
  if (!row || !row->loss) return loss_ && is_lost(arrival);
  const bool lost = Threshold(*row->loss).hit(traced_loss_.bits(arrival.number));
  stats_.traced.add(lost);
  ++stats_.rows[trace_->place()].frames;
  return lost;
}

bool Rule::is_policed(const Arrival& arrival) noexcept {
  const bool conforms = police_->conforms(arrival.bytes, arrival.now);
  stats_.police.add(on_the_line(arrival.bytes, police_overhead_), conforms, arrival.now,
                    police_soon_);
  return !conforms;
}

void Rule::decide_in_full(Decision& decision, const Arrival& arrival,
                          const EventActions& aimed) noexcept {
  const TraceConfig::Row* row = trace_ ? &trace_->at(arrival.now) : nullptr;
  if (aimed.drop) {
    decision.drop(Stage::event);
  } else if (outage_) {
    decision.drop(Stage::outage);
  } else if (police_ && is_policed(arrival)) {
    decision.drop(Stage::police);
  } else if (is_lost(arrival, row)) {
    decision.drop(Stage::loss);
  }
  if (decision.action == Action::drop) return stats_.count(decision.acted);

  if (!aimed_at_nothing(aimed)) {
    decision.act(Stage::event);
    decision.aimed = foremost(aimed);
  }
  const bool corruptible = !corrupts_ || corrupter_.reaches(arrival.envelope);
  stats_.corruptible += corruptible ? 1U : 0U;
  decision.corrupt = aimed.corrupt;
  if (corrupts_ && corruptible && corrupter_.hits(arrival.number)) {
    decision.corrupt = true;
    decision.act(Stage::corrupt);
  }
  ++stats_.duplicable;
  decision.copies = aimed.copies;
  if (duplicate_) {
    if (const auto copies = duplicate_->copies(arrival.number); copies > 0) {
      decision.copies = static_cast<std::uint8_t>(decision.copies + copies);
      decision.act(Stage::duplicate);
    }
  }
  decision.mark = aimed.mark;
  go_on(decision, arrival, 0, row);
  if (aimed.delay > Duration{} && decision.action != Action::drop) {
    // Out of its line's order: only the wheel takes it.
    decision.release = std::max(decision.release, arrival.now) + aimed.delay;
    decision.action = Action::queue;
    decision.line = kWheel;
  }
  stats_.count(decision.acted);
}

Decision Rule::decide_copy(const Arrival& arrival, const Decision& original,
                           std::uint32_t copy) noexcept {
  Decision decision;
  decision.rule = index_;
  if (original.corrupt) decision.act(Stage::corrupt);
  decision.act(Stage::duplicate);
  const StageSet before = decision.acted;
  go_on(decision, arrival, copy, trace_ ? &trace_->at(arrival.now) : nullptr);
  // What came before the copy is counted with its original.
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    stats_.acted[i] += decision.acted.has(stage) && !before.has(stage) ? 1U : 0U;
  }
  return decision;
}

void Rule::go_on(Decision& decision, const Arrival& arrival, std::uint32_t copy,
                 const TraceConfig::Row* row) noexcept {
  if (mark_) mark(decision, arrival, copy);
  if (decision.action == Action::drop) return;
  Instant from = arrival.now;
  if (queue_) {
    if (row) queue_->set_rate(row->rate_bps.value_or(queue_bps_));
    const auto departs = queue_->enqueue(arrival.bytes, arrival.now);
    if (!departs) {
      ++stats_.tail_dropped;
      return decision.drop(Stage::queue);
    }
    stats_.peak_queue_bytes = std::max(stats_.peak_queue_bytes, queue_->occupancy(arrival.now));
    const std::uint32_t on_line = on_the_line(arrival.bytes, queue_overhead_);
    const bool busy = stats_.queue.add(on_line, arrival.now, *departs);
    if (row && busy) stats_.rows[trace_->place()].busy_bytes += on_line;
    from = *departs;
    decision.act(Stage::queue);
  }
  if (delays_) {
    wait(decision, arrival, copy, from, row);
  } else if (last_release_ > from) [[unlikely]] {
    follow(decision);
  }
}

std::optional<QueueShift> Rule::pause(const wire::PfcFields& asked, Instant now) noexcept {
  if (!pfc_ || !pfc_->honour || !asked.quanta[pfc_->priority]) return std::nullopt;
  const Instant until = now + time_of_quanta(*asked.quanta[pfc_->priority], queue_bps_);
  // Pauses don't add up: the last one counts.
  stats_.pauses.silent_ns += (until - std::max(now, paused_until_)).count();
  paused_until_ = until;
  ++stats_.pauses.heard;
  QueueShift shift = queue_->pause(now, until);
  stats_.queue.put_off(shift.by);
  shift.after += delay_.value_or(Duration{});
  if (last_release_ > shift.after) last_release_ += shift.by;
  return shift;
}

std::optional<std::uint16_t> Rule::asks_for(Instant now) noexcept {
  if (!watch_) return std::nullopt;
  const auto quanta = watch_->look(queue_->occupancy(now), now);
  if (quanta) ++(*quanta > 0 ? stats_.pauses.asked : stats_.pauses.ended);
  return quanta;
}

void Rule::mark(Decision& decision, const Arrival& arrival, std::uint32_t copy) noexcept {
  const std::uint64_t queued =
      queue_ && mark_->looks_at_queue() ? queue_->occupancy(arrival.now) : 0;
  const MarkVerdict verdict = mark_->judge(arrival.envelope, arrival.number, copy, queued);
  ++stats_.markable;
  if (red_) count(*red_, queued);
  if (verdict != MarkVerdict::none) ++stats_.chosen_to_mark;
  switch (verdict) {
    case MarkVerdict::none:
    case MarkVerdict::already:
      break;
    case MarkVerdict::mark:
      decision.mark = true;
      decision.act(Stage::mark);
      break;
    case MarkVerdict::not_ect:
      ++stats_.not_ect;
      break;
    case MarkVerdict::drop:
      ++stats_.not_ect;
      decision.drop(Stage::mark);
      break;
  }
}

void Rule::count(const Red& red, std::uint64_t queued) noexcept {
  if (queued > red.kmax_bytes) {
    ++stats_.red.above;
  } else if (queued > red.kmin_bytes) {
    ++stats_.red.between;
    stats_.red.bytes_between += queued;
  }
}

void Rule::wait(Decision& decision, const Arrival& arrival, std::uint32_t copy, Instant from,
                const TraceConfig::Row* row) noexcept {
  Instant release = from + (row && row->delay ? *row->delay : delay_.value_or(Duration{}));
  decision.stage = Stage::delay;
  if (jitter_) {
    const double drawn = (*jitter_)(arrival.number, copy, from);
    stats_.jitter.add(drawn);
    if (jitter_->wanders()) {
      if (from >= stats_.wander.due()) look_at_wandering(from, drawn);
    } else if (arrival.number % 16 == 0) {
      ++stats_.fit[(*fit_)(drawn)];
    }
    release += whole_ns(drawn);
    decision.act(Stage::delay);
  }
  if (row && row->delay) decision.act(Stage::delay);
  // A distribution that reaches below zero can't make a frame leave before it came.
  release = std::max(release, from);
  if (keep_order_ && release < last_release_) {
    ++stats_.moved_for_order;
    stats_.moved_ns += static_cast<std::uint64_t>((last_release_ - release).count());
    release = last_release_;
  }
  last_release_ = std::max(last_release_, release);
  decision.action = Action::queue;
  decision.line = lines_.usual;
  decision.release = release;
  if (reorder_) hold_back(decision, arrival, copy);
}

void Rule::look_at_wandering(Instant t, double delay) noexcept {
  if (!stats_.wander.look(t, jitter_->score(t))) return;
  stats_.wander.delays.add(delay);
  ++stats_.fit[(*fit_)(delay)];
}

void Rule::hold_back(Decision& decision, const Arrival& arrival, std::uint32_t copy) noexcept {
  const ReorderConfig& config = reorder_->config();
  const bool by_frames = config.frames > 0;
  ++stats_.reorderable;
  decision.overtakes = by_frames;
  if (!reorder_->holds(arrival.number, copy)) return;
  decision.act(Stage::reorder);
  if (by_frames) {
    decision.action = Action::hold;
  } else {
    decision.release += config.by;
    decision.line = lines_.late;
  }
}

}  // namespace lw::emulator
