// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/ended_audits.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/figure.h"

namespace lw::impair {
namespace {

using emulator::Check;
using emulator::CheckUnit;

/// Widens bounds that a right stage exceeds once in 10^5 checks to once in 10^9. The tails of
/// shares and means fall as those of a normal variable, 6.0 deviations for 4.4; that of a
/// chi-square of few bins more slowly. Bounds that are exact stay.
Check widened(Check check) noexcept {
  if (check.unit == CheckUnit::bits_per_second || check.unit == CheckUnit::bytes) return check;
  const double factor = check.unit == CheckUnit::chi_square ? 1.7 : 1.37;
  check.low = check.asked - factor * (check.asked - check.low);
  check.high = check.asked + factor * (check.high - check.asked);
  if (check.unit == CheckUnit::share) {
    check.low = std::max(check.low, 0.0);
    check.high = std::min(check.high, 1.0);
  }
  return check;
}

bool goes_on(const emulator::RuleConfig& config, emulator::Direction direction,
             std::span<const emulator::RuleConfig> now) {
  const auto next = std::ranges::find(now, config.name, &emulator::RuleConfig::name);
  return next != now.end() && next->applies(direction) && *next == config;
}

}  // namespace

void EndedAudits::add(const Effect& effect, const std::array<const emulator::Pipeline*, 2>& old,
                      std::span<const emulator::RuleConfig> now) {
  if (!effect.zero) return;  // no frame has come
  for (const emulator::Pipeline* pipeline : old) {
    if (pipeline == nullptr) continue;
    for (std::size_t i = 0; i < pipeline->rules().size(); ++i)
      if (!goes_on(pipeline->configs()[i], pipeline->direction(), now))
        add(*pipeline, i, effect.at - *effect.zero);
  }
}

void EndedAudits::add(const emulator::Pipeline& pipeline, std::size_t place, Duration end) {
  const emulator::RuleConfig& config = pipeline.configs()[place];
  Duration& begin = begins_[{pipeline.direction(), config.name}];
  EndedAudit audit{.direction = std::string(name_of(pipeline.direction())),
                   .rule = config.name,
                   .begin = std::exchange(begin, end),
                   .end = end};
  const auto checks = emulator::audit(config, pipeline.rules()[place].stats());
  if (checks.empty()) return;
  sums_.add(pipeline.direction(), config.name, checks);
  std::ranges::transform(checks, std::back_inserter(audit.checks), widened);
  if (audits_.size() < kMost) return audits_.push_back(std::move(audit));
  ++further_.audits;
  if (!std::ranges::all_of(audit.checks, &Check::holds)) ++further_.failed;
}

const FigureTable& EndedAudit::figures() {
  using Row = FigureOf<EndedAudit>;
  static constexpr Figure kRows[] = {
      Row::of<&EndedAudit::direction>("direction", "west-to-east or east-to-west."),
      Row::of<&EndedAudit::rule>("rule", "Name of the rule."),
      Row::of<&EndedAudit::begin>("from_ns", "Begin of the configuration, since the first frame.",
                                  Unit::ns),
      Row::of<&EndedAudit::end>("to_ns", "The change that ended it, since the first frame.",
                                Unit::ns),
      Row::of<&EndedAudit::checks>("checks",
                                   "Asked and seen shares, with wider bounds: a right "
                                   "stage exceeds them in one of 10^9 checks.")};
  static constexpr FigureTable kTable{"What a rule did until it was changed.", kRows};
  return kTable;
}

const FigureTable& EndedAudits::Further::figures() {
  using Row = FigureOf<Further>;
  static constexpr Figure kRows[] = {
      Row::of<&Further::audits>("audits", "Audits beyond those listed."),
      Row::of<&Further::failed>("failed", "Of these, audits with a check that does not hold.")};
  static constexpr FigureTable kTable{"Audits that are only counted.", kRows};
  return kTable;
}

}  // namespace lw::impair
