// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/delay.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/figure.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/jitter_stats.h"
#include "emulator/stats/loss_audit.h"

namespace lw::emulator {
namespace {

// Samples of a correlated delay are at least four half-lives apart, so the correlation of any
// function of one with a function of the next is at most this (Gebelein, 1941). The variance of
// their sum may exceed that of independent samples by kWider.
constexpr double kLeft = 1.0 / 16;
constexpr double kWider = (1 + kLeft) / (1 - kLeft);

void audit_draws(const JitterConfig& jitter, const DrawStats& seen, const RuleStats& stats,
                 double wider, std::vector<Check>& checks) {
  const Distribution& asked = jitter.distribution;
  const double mean = mean_of(asked), deviation = deviation_of(asked);
  if (seen.count >= kFewestDraws && std::isfinite(deviation)) {
    // The sampling tables have an error of about 10^-5.
    const double bound =
        kDeviations * deviation * std::sqrt(wider / static_cast<double>(seen.count)) +
        1e-4 * deviation;
    checks.push_back({Stage::delay, "mean jitter", seen.count, mean, seen.mean(), mean - bound,
                      mean + bound, CheckUnit::nanoseconds, static_cast<double>(seen.count)});
  }
  const auto sampled = std::accumulate(stats.fit.begin(), stats.fit.end(), std::uint64_t{0});
  if (sampled < kFewestDraws) return;
  Check fit = chi_square(Stage::delay, "jitter's distribution", stats.fit,
                         FitBins(asked).probabilities(asked));
  fit.high *= wider;
  checks.push_back(fit);
}

/// Estimates the time in which a score loses half of its correlation, from squared changes over
/// known times. Changes of a normal score are normal, so the sum of their squares has a chi-square
/// distribution; pairs are nearly independent.
std::optional<Check> half_life(Duration asked, const CorrelatedStats& seen) {
  constexpr std::uint64_t kFewestPairs = 100;
  if (seen.pairs() < kFewestPairs) return std::nullopt;
  // Between two steps of the chain the score is interpolated, so its correlation depends on the
  // position within a step. This bounds the deviation from the average.
  constexpr double kUneven = 0.016;
  const auto pairs = static_cast<double>(seen.pairs()), half = static_cast<double>(asked.count());
  const double lost = 1 - std::exp2(-seen.mean_lag() / half);
  // Laurent and Massart, 2000: exceeded once in 10^5 runs.
  const double part = kUnlikely / pairs;
  const double most = lost * (1 + 2 * std::sqrt(part) + 2 * part) + kUneven;
  const double least = lost * (1 - 2 * std::sqrt(part)) - kUneven;
  const auto time_to_halve = [&](double lost_by_then) {
    const double kept = std::min(1 - lost_by_then, 1 - 1e-12);
    return kept <= 0 ? 0 : seen.mean_lag() / -std::log2(kept);
  };
  return Check{Stage::delay,
               "half-life",
               seen.pairs(),
               half,
               time_to_halve(seen.mean_half_square()),
               time_to_halve(most),
               time_to_halve(least),
               CheckUnit::nanoseconds};
}

}  // namespace

void audit_jitter(const JitterConfig& jitter, const RuleStats& stats, std::vector<Check>& checks) {
  if (!jitter.half_life) return audit_draws(jitter, stats.jitter, stats, 1, checks);
  audit_draws(jitter, stats.correlated.delays, stats, kWider, checks);
  if (const auto check = half_life(*jitter.half_life, stats.correlated)) checks.push_back(*check);
}

bool Delay::varies(const RuleConfig& rule) noexcept { return rule.jitter.has_value(); }
bool Delay::fits_short_path(const RuleConfig& rule) noexcept {
  return !varies(rule) && rule.keep_order;
}
bool Delay::waits(const RuleConfig& rule) noexcept { return rule.delay.has_value(); }

Delay::Delay(const RuleConfig& rule, const StageSetup& setup)
    : delays_(rule.delays()),
      keep_order_(rule.keep_order),
      line_(setup.lines.usual),
      delay_(rule.delay) {
  if (!rule.jitter) return;
  jitter_.emplace(*rule.jitter, setup.chance(rule.name, kName));
  fit_.emplace(rule.jitter->distribution);
}

void Delay::prepare(const RuleConfig& rule, Stats& stats) {
  if (rule.jitter && rule.jitter->half_life)
    stats.correlated = CorrelatedStats(*rule.jitter->half_life);
}

void Delay::sample(Instant t, double delay, Stats& stats) noexcept {
  if (!stats.correlated.add_score(t, jitter_->score(t))) return;
  stats.correlated.delays.add(delay);
  ++stats.fit[(*fit_)(delay)];
}

bool Delay::releases(std::uint64_t first, Instant now, std::span<Instant> out,
                     Stats& stats) noexcept {
  const Instant nominal = now + delay_.value_or(Duration{});
  if (!jitter_) {
    last_release_ = std::max(nominal, last_release_);
    std::ranges::fill(out, keep_order_ ? last_release_ : nominal);
    return false;
  }
  if (jitter_->is_correlated()) {
    std::ranges::fill(out, correlated(nominal, now, out.size(), stats));
  } else {
    draw(first, nominal, now, out, stats);
  }
  return true;
}

/// Frames that arrive at the same time have the same correlated delay.
Instant Delay::correlated(Instant nominal, Instant now, std::size_t frames, Stats& stats) noexcept {
  const double delay = jitter_->at(now);
  stats.jitter.add(delay, frames);
  if (now >= stats.correlated.due()) sample(now, delay, stats);
  const Instant asked = std::max(nominal + whole_ns(delay), now);
  if (keep_order_ && asked < last_release_) {
    stats.moved_for_order += frames;
    stats.moved_ns += frames * static_cast<std::uint64_t>((last_release_ - asked).count());
    return last_release_;
  }
  last_release_ = std::max(last_release_, asked);
  return asked;
}

void Delay::draw(std::uint64_t first, Instant nominal, Instant now, std::span<Instant> out,
                 Stats& stats) noexcept {
  std::array<double, kMostTogether> space;
  const auto drawn = std::span(space).first(out.size());
  jitter_->draw(first, drawn);
  stats.jitter.add(drawn);
  for (std::size_t i = (16 - first % 16) % 16; i < drawn.size(); i += 16)
    ++stats.fit[(*fit_)(drawn[i])];
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(nominal + whole_ns(drawn[i]), now);
  if (keep_order_) {
    put_in_order(out, stats);
  } else {
    last_release_ = std::max(last_release_, *std::ranges::max_element(out));
  }
}

/// Raises releases so that no frame leaves before an earlier one.
void Delay::put_in_order(std::span<Instant> releases, Stats& stats) noexcept {
  Instant last = last_release_;
  std::uint64_t moved = 0;
  Duration by{};
  for (Instant& release : releases) {
    const Duration gap = release < last ? last - release : Duration{};
    moved += gap > Duration{} ? 1U : 0U;
    by += gap;
    release += gap;
    last = release;
  }
  stats.moved_for_order += moved;
  stats.moved_ns += static_cast<std::uint64_t>(by.count());
  last_release_ = last;
}

void Delay::inherit(Delay& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept {
  if (rule.jitter == old_rule.jitter) std::swap(jitter_, old.jitter_);
  if (rule.overtakes && rule.delay != old_rule.delay) return;
  // One nanosecond later than frames that may wait in another FIFO: the order of two FIFOs at one
  // instant is undefined.
  last_release_ = final_release_ = old.last_release_ + Duration{rule == old_rule ? 0 : 1};
}

void Delay::read(const StageKeys& rule, Settings& settings) {
  static constexpr std::string_view kOrders[] = {"kept", "free"};
  settings.jitter = read_jitter(rule);
  settings.keep_order = rule.choice("order", kOrders).value_or(0) == 0;
}

void Delay::describe(const RuleConfig& rule, StageTexts& texts) {
  if (rule.delay) texts.emplace_back(kName, format_set_duration(*rule.delay));
  if (rule.jitter) {
    std::string text = emulator::describe(rule.jitter->distribution);
    if (rule.jitter->half_life)
      text += fmt::format(", half-life {}", format_set_duration(*rule.jitter->half_life));
    texts.emplace_back("jitter", text);
  }
  if (rule.varies() || !rule.keep_order)
    texts.emplace_back("order", rule.keep_order ? "kept" : "free");
}

void Delay::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (rule.jitter) audit_jitter(*rule.jitter, stats, checks);
}

const FigureTable& Delay::Stats::figures() {
  using Row = FigureOf<Delay::Stats>;
  static constexpr Figure kRows[] = {
      Row::of<&Stats::moved_for_order>("releases_put_off",
                                       "Frames that left later, to keep the order.", Unit::frames),
      Row::of<&Stats::moved_ns>("by_ns", "Sum of these delays.", Unit::ns)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& Delay::figures() {
  static constexpr Figure kRows[] = {
      FigureOf<RuleStats>::of<[](const RuleStats& stats) -> const Delay::Stats& { return stats; }>(
          "order", "Delays that keep the order.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

void Delay::report(const RuleStats& stats, StageLines& lines) {
  lines.line(stats.moved_for_order, "releases put off to keep the order");
}

/// Adds the delay that 999 of 1,000 frames do not exceed.
void Delay::add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  ample.total += std::max(rule.delay.value_or(Duration{}), ample.nominal_floor);
  if (!rule.jitter) return;
  const double jitter = quantile(rule.jitter->distribution, 0.999, 0.001);
  ample.total += whole_ns(std::max(0.0, std::ceil(jitter)));
}

}  // namespace lw::emulator
