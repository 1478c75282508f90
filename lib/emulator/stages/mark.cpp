// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/mark.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/setting.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stages/queue.h"
#include "emulator/stats/audit.h"
#include "roce/traffic_class.h"

namespace lw::emulator {
namespace {

void count(const Red& red, std::uint64_t queued, RedStats& stats) noexcept {
  if (queued > red.kmax_bytes) {
    ++stats.above;
  } else if (queued > red.kmin_bytes) {
    ++stats.between;
    stats.bytes_between += queued;
  }
}

std::string text_of(const Red& red) {
  const std::string kmin = amount(red.kmin_bytes), kmax = amount(red.kmax_bytes);
  const std::string where = red.on_leaving ? "behind a leaving frame in the queue" : "by the queue";
  if (red.step)
    return fmt::format("RED {}, none up to {}, {} up to {}, all above, ", where, kmin,
                       percent(red.share), kmax);
  return fmt::format("RED {}, none up to {}, {} at {}, all above, ", where, kmin,
                     percent(red.share), kmax);
}

constexpr std::pair<std::string_view, bool> kProfiles[] = {{"ramp", false}, {"step", true}};
constexpr std::pair<std::string_view, bool> kTimes[] = {{"arrival", false}, {"departure", true}};
constexpr std::pair<std::string_view, NotEct> kNotEct[] = {{"pass", NotEct::pass},
                                                           {"drop", NotEct::drop}};

}  // namespace

const FigureTable& Red::figures() {
  using Row = FigureOf<Red>;
  static constexpr Figure kRows[] = {
      Row::of<&Red::kmin_bytes>("kmin", "Up to this, no frame is marked.", Unit::bytes)
          .from(0, kLargestSize),
      Row::of<&Red::kmax_bytes>("kmax", "Above this, each frame is marked.", Unit::bytes)
          .from(0, kLargestSize),
      Row::of<&Red::share>("share",
                           "Share that is marked at kmax (`pmax`), or everywhere from kmin "
                           "to kmax (`pmin`, with a step).",
                           Unit::share),
      Row::word<&Red::step, kProfiles>("profile", "How the share rises from kmin to kmax."),
      Row::word<&Red::on_leaving, kTimes>("at", "When the bytes in the queue count.")};
  static constexpr FigureTable kTable{"Marks by the bytes in the queue (RED).", kRows};
  return kTable;
}

const FigureTable& MarkConfig::figures() {
  using Row = FigureOf<MarkConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&MarkConfig::probability>("probability", "Share of the frames, whatever the queue.",
                                        Unit::share)
          .from(0, 1),
      Row::of<&MarkConfig::red>("red", "Marks by the queue: kmin, kmax and others."),
      Row::word<&MarkConfig::not_ect, kNotEct>(
          "not_ect", "What becomes of chosen frames that do not say ECT."),
      Row::of<&MarkConfig::force>("force", "Marks any IP frame, whatever its ECN field.").set_to()};
  static constexpr FigureTable kTable{"Marks of congestion experienced (CE).", kRows};
  return kTable;
}

Figure Mark::settings() {
  return FigureOf<RuleConfig>::of<&RuleConfig::mark>(
      kName, "Frames are marked as congestion experienced.");
}

std::optional<Red> read_red(const StageKeys& table) {
  static constexpr std::string_view kKeys[] = {"kmin", "kmax", "pmax", "profile", "pmin", "at"};
  if (std::ranges::none_of(kKeys, [&](auto key) { return table.has(key); })) return std::nullopt;
  table.need("kmin", "bytes in the queue, \"150kB\"");
  table.need("kmax", "bytes in the queue, \"1.5MB\"");
  Red red{.kmax_bytes = kLargestSize};
  table.settings(red);
  if (red.step) {
    red.share =
        table.require("pmin", parse_probability, "the share from kmin to kmax, \"1%\"").value_or(0);
    if (table.has("pmax"))
      table.refuse("pmax", "expected pmin beside profile = \"step\": all above kmax are marked");
  } else {
    red.share = table.get_or("pmax", parse_probability, 1.0);
    if (table.has("pmin")) table.refuse("pmin", "expected profile = \"step\" beside it");
  }
  if (red.kmin_bytes > red.kmax_bytes)
    table.refuse("kmin", fmt::format("expected at most kmax, {} B, found {} B", red.kmax_bytes,
                                     red.kmin_bytes));
  return red;
}

bool Mark::present(const RuleConfig& rule) noexcept { return rule.mark.has_value(); }

Mark::Mark(const RuleConfig& rule, const StageSetup& setup) noexcept
    : marker_(*rule.mark, setup.chance(rule.name, kName)) {}

void Mark::apply(Passage& p, Stats& stats, const roce::Envelope& envelope) const noexcept {
  std::optional<std::uint64_t> queued;
  if (p.class_bytes && marker_.red() && !marker_.on_leaving()) {
    queued = *p.class_bytes;
    count(*marker_.red(), *queued, stats.red);
  }
  ++stats.markable;
  apply(marker_.judge(p.ecn ? p.ecn : roce::ecn_of(envelope), p.number, p.copy, queued), p, stats);
}

bool Mark::acts_on_leaving(const RuleConfig& rule) noexcept {
  return rule.mark && rule.mark->red && rule.mark->red->on_leaving;
}

void Mark::leave(Passage& p, Stats& stats, const roce::Envelope& envelope) const noexcept {
  // A frame that came before a change asked for marks here may be where it cannot be changed.
  if (envelope.bytes.empty()) return;
  const std::uint64_t behind = p.class_bytes.value_or(0);
  count(*marker_.red(), behind, stats.red);
  ++stats.judged_leaving;
  apply(marker_.judge_leaving(roce::ecn_of(envelope), p.number, p.copy, behind), p, stats);
}

/// Puts a verdict into effect, and counts it.
void Mark::apply(MarkVerdict verdict, Passage& p, Stats& stats) noexcept {
  if (verdict != MarkVerdict::none) ++stats.chosen_to_mark;
  switch (verdict) {
    case MarkVerdict::none:
    case MarkVerdict::already:
      break;
    case MarkVerdict::mark:
      p.decision.mark = true;
      p.decision.act(kNumber);
      break;
    case MarkVerdict::not_ect:
      ++stats.not_ect;
      break;
    case MarkVerdict::drop:
      ++stats.not_ect;
      p.decision.drop(kNumber);
      break;
  }
}

MarkVerdict Marker::verdict(std::optional<std::uint8_t> ecn, bool by_chance,
                            bool by_red) const noexcept {
  if (!by_chance && !by_red) return MarkVerdict::none;
  if (ecn == roce::kCongestionExperienced) return MarkVerdict::already;
  if (ecn.value_or(0) != 0 || (config_.force && ecn)) return MarkVerdict::mark;
  return by_red && config_.not_ect == NotEct::drop ? MarkVerdict::drop : MarkVerdict::not_ect;
}

void Mark::read(const StageKeys& rule, Settings& settings) {
  if (!rule.has(kName)) return;
  MarkConfig& mark = settings.mark.emplace();
  if (!rule.is_table(kName)) {
    mark.probability = rule.get_or(kName, parse_probability, 0.0);
    return;
  }
  const auto table = rule.table(kName);
  table->settings(mark);
  mark.red = read_red(*table);
  if (mark.red && !rule.has("queue"))
    table->refuse("expected a queue in this rule, by which to mark; found none");
  if (!table->has("probability") && !mark.red)
    table->refuse("expected a probability, or kmin and kmax; found neither");
  if (mark.not_ect == NotEct::drop && !mark.red)
    table->refuse("not_ect", "expected kmin and kmax beside \"drop\", which is RED's; found none");
  if (mark.not_ect == NotEct::drop && mark.red && mark.red->on_leaving)
    table->refuse("not_ect", "expected \"pass\" beside at = \"departure\"");
  table->finish();
}

void Mark::describe(const RuleConfig& rule, StageTexts& texts) {
  const MarkConfig& mark = *rule.mark;
  std::string text;
  if (mark.probability > 0) text = percent(mark.probability) + " of the frames, ";
  if (mark.red) {
    text += text_of(*mark.red);
    text += mark.not_ect == NotEct::drop ? "others dropped, " : "others passed, ";
  }
  texts.emplace_back(kName, text + (mark.force ? "any IP frame" : "only what says ECT"));
}

namespace {

/// Checks the marks of both judgements together: by probability on arrival, and by RED on leaving.
void audit_leaving(const MarkConfig& mark, const RuleStats& stats, double by_queue,
                   std::vector<Check>& checks) {
  const auto between = static_cast<double>(stats.red.between);
  const auto above = static_cast<double>(stats.red.above);
  const auto came = static_cast<double>(stats.markable);
  checks.push_back(poisson_binomial(
      Mark::kNumber, "chosen to mark", stats.markable + stats.judged_leaving, stats.chosen_to_mark,
      came * mark.probability + between * by_queue + above,
      came * mark.probability * (1 - mark.probability) + between * by_queue * (1 - by_queue)));
}

}  // namespace

/// Checks marks by probability, by the queue, or by both: sums over all frames what each would have
/// marked.
void Mark::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.markable == 0) return;
  const MarkConfig& mark = *rule.mark;
  const auto between = static_cast<double>(stats.red.between);
  const auto above = static_cast<double>(stats.red.above);
  // Marked share of frames between the thresholds, on average: it is linear in the bytes.
  const double by_queue =
      mark.red && between > 0
          ? mark.red->probability(static_cast<double>(stats.red.bytes_between) / between)
          : 0;
  if (mark.red && mark.red->on_leaving) {
    audit_leaving(mark, stats, by_queue, checks);
    return;
  }
  const double others = static_cast<double>(stats.markable) - between - above;
  const double chance = mark.probability, both = chance + (1 - chance) * by_queue;
  // For a given mean, the variance is largest if all frames have the same probability.
  const double variance = others * chance * (1 - chance) + between * both * (1 - both);
  checks.push_back(poisson_binomial(kNumber, "chosen to mark", stats.markable, stats.chosen_to_mark,
                                    others * chance + between * both + above,
                                    std::max(0.0, variance)));
}

const FigureTable& Mark::figures() {
  static constexpr Figure kRows[] = {FigureOf<RuleStats>::of<&RuleStats::not_ect>(
      "not_ect", "Frames that a mark met without ECT.", Unit::frames)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

void Mark::report(const RuleStats& stats, StageLines& lines) {
  lines.line(stats.not_ect, "not marked, because they don't say ECT");
}

}  // namespace lw::emulator
