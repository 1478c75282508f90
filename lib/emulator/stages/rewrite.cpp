// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/rewrite.h"

#include <fmt/format.h>

#include "core/figure.h"
#include "core/setting.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"
#include "roce/traffic_class.h"

namespace lw::emulator {
namespace {

constexpr std::pair<std::string_view, std::uint8_t> kEcn[] = {
    {"not-ect", 0}, {"ect1", 1}, {"ect0", 2}, {"ce", 3}};  // RFC 3168

void count(std::uint8_t before, std::uint8_t after, RewriteStats& stats) noexcept {
  if (before >> 2 != after >> 2) ++stats.dscp_changed;
  const std::uint8_t ecn = before & roce::kEcnBits, now = after & roce::kEcnBits;
  if (ecn == roce::kCongestionExperienced && now != roce::kCongestionExperienced) {
    ++stats.ce_erased;
  } else if (ecn != 0 && now == 0) {
    ++stats.ect_erased;
  }
}

}  // namespace

std::string text_of(const RewriteConfig& rewrite) {
  std::string text;
  if (rewrite.dscp) text = fmt::format("DSCP {}", *rewrite.dscp);
  if (rewrite.ecn)
    text += fmt::format("{}ECN {}", rewrite.dscp ? " and " : "", name_among(kEcn, *rewrite.ecn));
  return text;
}

bool Rewrite::present(const RuleConfig& rule) noexcept { return rule.rewrite.has_value(); }

Rewrite::Rewrite(const RuleConfig& rule, const StageSetup& setup) noexcept
    : config_(*rule.rewrite),
      probability_(rule.rewrite->probability),
      chance_(setup.chance(rule.name, kName)) {}

void Rewrite::apply(Passage& p, Stats& stats, const roce::Envelope& envelope) const noexcept {
  const auto ecn = roce::ecn_of(envelope);
  if (!ecn) return;
  ++stats.rewritable;
  if (!probability_.hit(chance_.bits(p.number, p.copy))) return;
  ++stats.chosen_to_write;
  const auto before = static_cast<std::uint8_t>(envelope.dscp() << 2 | *ecn);
  const auto after =
      static_cast<std::uint8_t>((before & ~config_.mask()) | (config_.value() & config_.mask()));
  if (before == after) return;
  count(before, after, stats.rewritten);
  p.ecn = after & roce::kEcnBits;
  p.decision.rewrite = {config_.mask(), config_.value()};
  p.decision.act(kNumber);
}

const FigureTable& RewriteConfig::figures() {
  using Row = FigureOf<RewriteConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&RewriteConfig::probability>("probability", "Share of the IP frames.", Unit::share)
          .from(0, 1),
      Row::of<&RewriteConfig::dscp>("dscp", "DSCP that they get.").from(0, 63),
      Row::word<&RewriteConfig::ecn, kEcn>("ecn", "ECN field that they get.").if_any()};
  static constexpr FigureTable kTable{"IP frames with another DSCP or ECN field.", kRows};
  return kTable;
}

Figure Rewrite::settings() {
  return FigureOf<RuleConfig>::of<&RuleConfig::rewrite>(kName,
                                                        "The DSCP or ECN field of frames is set.");
}

void Rewrite::read(const StageKeys& rule, Settings& settings) {
  const auto table = rule.table(kName);
  if (!table) return;
  table->settings(settings.rewrite.emplace());
  if (!table->has("dscp") && !table->has("ecn"))
    table->refuse("expected dscp = 0 to 63, or ecn = \"not-ect\"; found neither");
  table->finish();
}

void Rewrite::describe(const RuleConfig& rule, StageTexts& texts) {
  texts.emplace_back(kName,
                     fmt::format("{} of the IP frames get {}", percent(rule.rewrite->probability),
                                 text_of(*rule.rewrite)));
}

void Rewrite::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.rewritable > 0)
    checks.push_back(binomial(kNumber, "chosen to rewrite", stats.rewritable, stats.chosen_to_write,
                              rule.rewrite->probability));
}

const FigureTable& RewriteStats::figures() {
  using Row = FigureOf<RewriteStats>;
  static constexpr Figure kRows[] = {
      Row::of<&RewriteStats::dscp_changed>("dscp_changed", "Frames whose DSCP changed.",
                                           Unit::frames),
      Row::of<&RewriteStats::ect_erased>(
          "ect_erased", "Frames that said ECT and no longer do: none can be marked.", Unit::frames),
      Row::of<&RewriteStats::ce_erased>(
          "ce_erased", "Frames that came with a congestion mark and lost it.", Unit::frames)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& Rewrite::figures() {
  static constexpr Figure kRows[] = {FigureOf<RuleStats>::of<[](const RuleStats& stats) {
    return stats.rewritten == RewriteStats{} ? nullptr : &stats.rewritten;
  }>("rewritten", "What the rewrite stage changed.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

void Rewrite::report(const RuleStats& stats, StageLines& lines) {
  lines.line(stats.rewritten.dscp_changed, "got another DSCP");
  lines.line(stats.rewritten.ect_erased, "no longer say ECT, so none can be marked");
  lines.line(stats.rewritten.ce_erased, "lost a congestion mark that they came with");
}

}  // namespace lw::emulator
