// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/report.h"

#include <algorithm>

namespace lw::impair {

Spread spread_of(const Histogram& histogram) {
  return {histogram.count(),        histogram.minimum(),       histogram.quantile(0.5),
          histogram.quantile(0.99), histogram.quantile(0.999), histogram.maximum()};
}

EventsReport events_of(const emulator::Pipeline& pipeline) {
  return {pipeline.events().outcomes(), pipeline.events().untracked(), pipeline.event_hits()};
}

std::vector<StagesReport> stages_of(const emulator::Pipeline& pipeline) {
  std::vector<StagesReport> reports;
  for (std::size_t i = 0; i < pipeline.rules().size(); ++i) {
    const emulator::Rule& rule = pipeline.rules()[i];
    reports.push_back({pipeline.rule_names()[rule.index()],
                       rule.totals(),
                       {},
                       rule.stats(),
                       pipeline.shared_configs(),
                       i});
  }
  return reports;
}

void judge(DirectionReport& direction) {
  for (StagesReport& stages : direction.stages)
    stages.checks = audit((*stages.configs)[stages.place], stages.since_change);
}

bool Report::accounts_hold() const noexcept {
  return std::ranges::all_of(directions,
                             [](const DirectionReport& d) { return d.accounting.holds(); });
}

bool Report::releases_hold() const noexcept {
  return std::ranges::all_of(directions, &DirectionReport::none_left_early);
}

bool Report::stages_hold() const noexcept {
  const auto holds = [](const emulator::Check& check) { return check.holds(); };
  for (const DirectionReport& direction : directions) {
    if (!direction.events.hits.holds()) return false;
    for (const StagesReport& stages : direction.stages)
      if (!std::ranges::all_of(stages.checks, holds)) return false;
  }
  return true;
}

}  // namespace lw::impair
