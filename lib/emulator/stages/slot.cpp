// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/slot.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/setting.h"
#include "emulator/random/jitter.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"
#include "emulator/stats/loss_audit.h"

namespace lw::emulator {

namespace {

/// Reads the distribution of the times between slots.
void read_between(const StageKeys& table, SlotConfig& slot) {
  slot.between = read_distribution(table);
  slot.least = slot.most = Duration{1};
  if (!slot.between) return;
  slot.least = std::max(Duration{}, whole_ns(quantile(*slot.between, 0.001, 0.999)));
  slot.most = whole_ns(quantile(*slot.between, 0.999, 0.001));
  if (slot.most <= Duration{}) table.refuse("distribution", "expected times above 0 between slots");
  slot.most = std::max(slot.most, Duration{1});
}

/// Checks the mean of the times between slots.
Check mean_between(const Distribution& between, const SlotStats& seen) {
  const double mean = mean_of(between), n = static_cast<double>(seen.followed);
  const double bound = kDeviations * deviation_of(between) / std::sqrt(n) + 1;
  return {Slot::kNumber, "mean time between slots", seen.followed,
          mean,          seen.followed_ns / n,      mean - bound,
          mean + bound,  CheckUnit::nanoseconds,    n};
}

}  // namespace

bool Slot::present(const RuleConfig& rule) noexcept { return rule.slot.has_value(); }

Slot::Slot(const RuleConfig& rule, const StageSetup& setup)
    : least_(rule.slot->least),
      most_(rule.slot->most),
      most_frames_(rule.slot->frames),
      most_bytes_(rule.slot->bytes),
      chance_(setup.chance(rule.name, kName)) {
  if (rule.slot->between) sampler_.emplace(*rule.slot->between);
}

void Slot::open_after(Instant from, const Passage& p) noexcept {
  if (sampler_) {
    begin_ = from + std::max(Duration{}, whole_ns((*sampler_)(chance_.bits(p.number, p.copy))));
  } else {
    const auto range = static_cast<double>((most_ - least_).count() + 1);
    begin_ = from + least_ +
             Duration{static_cast<Duration::rep>(chance_.uniform(p.number, p.copy) * range)};
  }
  frames_ = 0;
  bytes_ = 0;
}

void Slot::apply(Passage& p, Stats& stats) noexcept {
  if (begin_ < p.at) {
    follows_ = false;
    open_after(p.at, p);
  }
  p.at = begin_;
  p.decision.act(kNumber);
  count(stats);
  ++frames_;
  bytes_ += p.bytes;
  const bool full =
      (most_frames_ > 0 && frames_ >= most_frames_) || (most_bytes_ > 0 && bytes_ >= most_bytes_);
  if (!full) return;
  follows_ = true;
  open_after(begin_, p);
}

/// Counts a frame that leaves in the slot that begins at begin_.
void Slot::count(Stats& stats) noexcept {
  SlotStats& slots = stats.slots;
  if (begin_ != last_) {
    if (follows_) {
      slots.closest_ns = std::min(slots.closest_ns, (begin_ - last_).count());
      slots.farthest_ns = std::max(slots.farthest_ns, (begin_ - last_).count());
      ++slots.followed;
      slots.followed_ns += static_cast<double>((begin_ - last_).count());
    }
    ++slots.slots;
    in_last_ = 0;
    last_ = begin_;
  }
  slots.fullest = std::max(slots.fullest, ++in_last_);
}

/// A slot that was chosen stays, and what has left in it counts against the new limits.
void Slot::inherit(Slot& old, const RuleConfig& /*rule*/, const RuleConfig& /*old_rule*/) noexcept {
  begin_ = old.begin_;
  frames_ = old.frames_;
  bytes_ = old.bytes_;
  in_last_ = 0;
  last_ = Instant{Duration::min()};
  follows_ = false;
}

const FigureTable& SlotConfig::figures() {
  using Row = FigureOf<SlotConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&SlotConfig::frames>("frames", "Most frames of a slot; without it, any number.")
          .from(1, SlotConfig::kMostFrames)
          .if_any(),
      Row::of<&SlotConfig::bytes>(
          "bytes",
          "Bytes of a slot: no frame begins once as many have gone; without it, any number.",
          Unit::bytes)
          .from(1, kLargestBuffer)
          .if_any(),
      Row::of<&SlotConfig::least>("min", "Shortest time to the next slot.", Unit::ns)
          .from(0, kLongestTimeNs),
      Row::of<&SlotConfig::most>("max", "Longest time to the next slot; without it, min.", Unit::ns)
          .from(1, kLongestTimeNs)};
  static constexpr FigureTable kTable{"Slots in which frames go on.", kRows};
  return kTable;
}

namespace {

/// The rows of what a slot holds.
const FigureTable& limits_of_slots() {
  static const FigureTable kTable{"Limits of a slot.", SlotConfig::figures().rows.first(2)};
  return kTable;
}

}  // namespace

Figure Slot::settings() {
  return FigureOf<RuleConfig>::of<&RuleConfig::slot>(kName, "Frames go on in slots only.");
}

void Slot::read(const StageKeys& rule, Settings& settings) {
  const auto table = rule.table(kName);
  if (!table) return;
  SlotConfig& slot = settings.slot.emplace();
  if (table->has("distribution")) {
    table->settings(limits_of_slots(), &slot);
    read_between(*table, slot);
    return table->finish();
  }
  table->need("min", "the time to the next slot, \"800us\"");
  slot.least = Duration{1};
  table->settings(slot);
  if (!table->has("max")) slot.most = slot.least;
  if (slot.least < Duration{} || slot.most == Duration{})
    table->refuse("min", "expected a time of at least 0 and a longer max, or more than 0");
  if (slot.most < slot.least)
    table->refuse(
        "max", fmt::format("expected at least min, {}, found {}", format_set_duration(slot.least),
                           format_set_duration(slot.most)));
  table->finish();
}

void Slot::describe(const RuleConfig& rule, StageTexts& texts) {
  const SlotConfig& slot = *rule.slot;
  std::string text = slot.between ? "by " + emulator::describe(*slot.between)
                     : slot.least == slot.most
                         ? fmt::format("every {}", format_set_duration(slot.least))
                         : fmt::format("every {} to {}", format_set_duration(slot.least),
                                       format_set_duration(slot.most));
  if (slot.frames > 0) text += fmt::format(", {} frames each", slot.frames);
  if (slot.bytes > 0) text += fmt::format(", {} each", amount(slot.bytes));
  texts.emplace_back(kName, text);
}

/// Checks the times between slots that directly follow each other, and the frames of one.
void Slot::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  const SlotConfig& slot = *rule.slot;
  const SlotStats& seen = stats.slots;
  const auto ns = [](Duration time) { return static_cast<double>(time.count()); };
  const double least = ns(slot.least), most = ns(slot.most);
  if (slot.between && seen.followed >= kFewestDraws &&
      quantile(*slot.between, 1e-6, 1 - 1e-6) >= 0 && std::isfinite(deviation_of(*slot.between)))
    checks.push_back(mean_between(*slot.between, seen));
  if (!slot.between && seen.closest_ns != INT64_MAX) {
    checks.push_back({kNumber, "closest slots", seen.slots, least,
                      static_cast<double>(seen.closest_ns), least, most, CheckUnit::nanoseconds});
    checks.push_back({kNumber, "farthest slots", seen.slots, most,
                      static_cast<double>(seen.farthest_ns), least, most, CheckUnit::nanoseconds});
  }
  if (slot.frames > 0 && seen.slots > 0) {
    const double frames = slot.frames;
    checks.push_back({kNumber, "fullest slot", seen.slots, frames,
                      static_cast<double>(seen.fullest), 1, frames, CheckUnit::frames});
  }
}

void Slot::report(const RuleStats& stats, StageLines& lines) {
  lines.line(stats.slots.slots, "slots in which frames went on");
}

void Slot::add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  ample.total += rule.slot->most;
}

}  // namespace lw::emulator
