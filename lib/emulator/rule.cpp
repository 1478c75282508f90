// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/rule.h"

#include <algorithm>
#include <utility>

#include "emulator/match/tunnel_rules.h"

namespace lw::emulator {

Rule::Rule(const RuleConfig& config, const StageSetup& setup, RuleIndex index)
    : index_(index),
      short_path_(config.fits_short_path()),
      loses_(loses(config.loss)),
      acts_on_batch_(config.acts_on_batch()),
      header_independent_(config.header_independent()),
      acts_on_leaving_(config.acts_on_leaving()),
      knows_release_(config.knows_release() && setup.lines.usual != kWheel),
      queue_path_(config.fits_queue_path()),
      corrupts_inside_(config.match.tunnel && config.corrupt &&
                       config.corrupt->part == CorruptConfig::Part::packet),
      when_(config.when),
      corrupter_(Corrupt::corrupter_of(config, setup)) {
  Stages::for_each([&]<class S>() {
    if (!S::present(config)) return;
    stage<S>().emplace(config, setup);
    present_ |= bit_of<S>();
    if constexpr (S::kHooks.has(Hook::prepare)) S::prepare(config, stats_);
  });
}

/// Flips bits of the RoCEv2 packet within a tunnel. The tunnel's UDP checksum is made right again:
/// otherwise the end of the tunnel would drop the frame.
void Rule::corrupt_inside(wire::MutableBytes frame, const IngressFrame& arrival) const noexcept {
  const auto inside = open_inside(arrival.envelope);
  if (!inside || frame.size() < arrival.envelope.bytes.size())
    return corrupter_.apply(frame, arrival.envelope, arrival.number);
  const std::uint16_t before = udp_words(frame, arrival.envelope);
  corrupter_.apply(frame.subspan(inside->offset), inside->envelope, arrival.number);
  refit_udp_checksum(frame, arrival.envelope, before);
}

void Rule::begin(Passage& passage) noexcept {
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::begin))
      if ((present_ & bit_of<S>()) != 0) stage<S>()->begin(passage, stats_);
  });
}

/// True if the stage's schedule lets the frame pass. A frame that came before the first frame of
/// the schedules, and still waits in the queue, counts as one at that time.
template <class S>
bool Rule::pauses(const Passage& passage) const noexcept {
  const std::optional<When>& when = when_.stage<S>();
  if (!when) return false;
  return !when->is_on(
      when->by_frames ? static_cast<std::int64_t>(passage.number)
                      : std::max(Duration{}, passage.now - first_.value_or(passage.now)).count());
}

/// Applies a stage that the rule has. Returns false if the frame is dropped, or waits in the queue.
template <class S>
bool Rule::apply(Passage& passage, const roce::Envelope& envelope) noexcept {
  if constexpr (S::kMayPause)
    if (pauses<S>(passage)) [[unlikely]] {
      if constexpr (S::kHooks.has(Hook::skip)) stage<S>()->skip(passage);
      return true;
    }
  if constexpr (S::kHooks.has(Hook::reads_headers)) {
    stage<S>()->apply(passage, stats_, envelope);
  } else if constexpr (S::kHooks.has(Hook::apply)) {
    stage<S>()->apply(passage, stats_);
  }
  return passage.decision.action != Action::drop && passage.decision.action != Action::wait;
}

/// Applies the stages from number First on, up to one that drops the frame or lets it wait.
template <std::size_t First>
void Rule::pass(Passage& passage, const roce::Envelope& envelope) noexcept {
  const auto goes_on = [&]<class S>() {
    return (present_ & bit_of<S>()) == 0 || apply<S>(passage, envelope);
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<void>(
        (goes_on.template
         operator()<typename std::tuple_element_t<First + I, Stages::Storage>::value_type>() &&
         ...));
  }(std::make_index_sequence<Stages::kCount - First>{});
}

void Rule::decide_in_full(Decision& decision, const IngressFrame& arrival,
                          const EventActions& aimed) noexcept {
  Passage passage{arrival.number, arrival.bytes, 0, arrival.now, arrival.now, aimed, decision};
  if (inside_) passage.inside = *inside_;
  if (!first_) first_ = arrival.now;
  let_depart(arrival.now);
  begin(passage);
  pass<0>(passage, arrival.envelope);
  if (decision.action == Action::wait) {
    decision.release += stage<Delay>()->nominal();
  } else if (decision.action != Action::drop) {
    put_off(decision, arrival.now, aimed.delay);
  }
  stats_.count(decision.acted);
}

/// Applies the delay of an event.
void Rule::put_off(Decision& decision, Instant from, Duration by) noexcept {
  if (by == Duration{}) return;
  // The release breaks the order of the rule's FIFO, so the frame goes to the wheel.
  decision.release = std::max(decision.release, from) + by;
  decision.action = Action::queue;
  decision.line = kWheel;
}

/// Removes the frames that have left the queue by `now`, and that were decided about when they
/// came.
void Rule::let_depart_due(Instant now) noexcept {
  const auto count = [this](const RulesQueue::Frames::SentFrame& sent, std::uint64_t busy_bytes) {
    count_departure(sent.handle, busy_bytes);
  };
  while (queue()->depart(now, count)) continue;
}

Decision Rule::depart(const RulesQueue::Frames::SentFrame& sent, std::uint64_t number,
                      std::uint32_t copy, const roce::Envelope& envelope) noexcept {
  static constexpr EventActions kNone;
  Decision decision;
  decision.rule = index_;
  if (queue_path_ && sent.handle.extra == Duration{}) [[likely]] {
    stage<Delay>()->apply_behind_queue(decision, sent.times.departs, stats_);
    return decision;
  }
  Passage passage{number, sent.bytes, copy, sent.handle.came, sent.times.departs, kNone, decision};
  passage.class_bytes = sent.behind_bytes;
  decide_behind_queue(passage, sent.handle, envelope);
  return decision;
}

void Rule::pass_queue(Decision& decision, const IngressFrame& arrival,
                      std::uint32_t copy) noexcept {
  if (decision.action != Action::wait) return;
  static constexpr EventActions kNone;
  RulesQueue::Waiting& frame = stage<Queue>()->last();
  Passage passage{arrival.number, on_the_line(arrival.bytes, 0),    copy,
                  arrival.now,    queue()->frames.last_departure(), kNone,
                  decision};
  passage.class_bytes = 0;  // nothing comes behind it before it leaves, as far as is known
  decide_behind_queue(passage, frame, arrival.envelope);
  frame.release = decision.release;
}

/// Applies the stages that act on a frame that leaves the queue.
void Rule::leave(Passage& passage, const roce::Envelope& envelope) noexcept {
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::leave))
      if (stage<S>() && !pauses<S>(passage)) stage<S>()->leave(passage, stats_, envelope);
  });
}

/// Applies the stages after the queue to a frame that departs from it at passage.at, and counts it.
void Rule::decide_behind_queue(Passage& passage, const RulesQueue::Waiting& frame,
                               const roce::Envelope& envelope) noexcept {
  Decision& decision = passage.decision;
  const StageSet before = decision.acted;
  decision.action = Action::pass;
  if (stage<Trace>()) stage<Trace>()->begin_again(passage, stats_, frame.row);
  if (acts_on_leaving_) [[unlikely]]
    leave(passage, envelope);
  pass<Stages::index_of<Queue>() + 1>(passage, envelope);
  put_off(decision, passage.at, frame.extra);
  stats_.count(StageSet::of(decision.acted.bits() & ~before.bits()));
}

Decision Rule::decide_copy(const IngressFrame& arrival, const Decision& original,
                           std::uint32_t copy) noexcept {
  static constexpr EventActions kNone;
  Decision decision;
  decision.rule = index_;
  if (original.corrupt) decision.act(Stage::corrupt);
  decision.act(Stage::duplicate);
  const StageSet before = decision.acted;
  Passage passage{arrival.number, arrival.bytes, copy, arrival.now, arrival.now, kNone, decision};
  if (inside_) passage.inside = *inside_;
  let_depart(arrival.now);
  begin(passage);
  pass<Stages::index_of<Duplicate>() + 1>(passage, arrival.envelope);
  if (decision.action == Action::wait) decision.release += stage<Delay>()->nominal();
  // Effects before the copy was made are counted for the original.
  stats_.count(StageSet::of(decision.acted.bits() & ~before.bits()));
  return decision;
}

Decision Rule::batch_decision() const noexcept {
  Decision decision;
  decision.rule = index_;
  if (queue_path_) decision.act(Stage::queue);
  stage<Delay>()->decide_batch(decision);
  return decision;
}

void Rule::releases(std::uint64_t first, Instant now, std::span<Instant> out) noexcept {
  if (stage<Delay>()->releases(first, now, out, stats_))
    stats_.acted[static_cast<std::size_t>(Stage::delay)] += out.size();
}

bool Rule::queue_together(std::span<const std::uint32_t> held, Instant now,
                          std::span<Instant> out) noexcept {
  if (!knows_release()) return false;
  Delay& delay = *stage<Delay>();
  if (earliest_release(now) < delay.last_release()) return false;
  if (!stage<Queue>()->admit_together(held, now, delay.nominal(), out, stats_)) return false;
  delay.released_until(out.back());
  stats_.acted[static_cast<std::size_t>(Stage::queue)] += out.size();
  return true;
}

void Rule::inherit(Rule& old, const RuleConfig& config, const RuleConfig& old_config,
                   Instant now) noexcept {
  // Counts are compared with the stages' parameters: they restart if a parameter changed.
  earlier_ = std::move(old.earlier_);
  if (config == old_config) {
    std::swap(stats_, old.stats_);
    served_ = old.served_;
  } else {
    Stages::for_each([&]<class S>() {
      if constexpr (S::kHooks.has(Hook::inherit_counts))
        S::inherit_counts(stats_, old.stats_, config, old_config);
    });
    earlier_.add(old.stats_);
    if (queue()) queue()->watch.restart();
  }
  if (when_ == old.when_) first_ = old.first_;
  if (old.stage<Trace>() && old.stage<Queue>())
    if (const auto row = old.stage<Trace>()->row_at(now))
      old.stage<Queue>()->meet(*row, old_config.trace->rows[*row]);
  Stages::for_each([&]<class S>() {
    if (!stage<S>() || !old.stage<S>()) return;
    if constexpr (requires(S& s) { s.inherit(s, config, old_config, now); }) {
      stage<S>()->inherit(*old.stage<S>(), config, old_config, now);
    } else if constexpr (S::kHooks.has(Hook::inherit)) {
      stage<S>()->inherit(*old.stage<S>(), config, old_config);
    }
  });
}

}  // namespace lw::emulator
