// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/direction_report.h"

namespace lw::impair {

Spread spread_of(const Histogram& histogram) {
  return {histogram.count(),        histogram.minimum(),       histogram.quantile(0.5),
          histogram.quantile(0.99), histogram.quantile(0.999), histogram.maximum()};
}

/// Of more rules than these, a report lists those that received frames.
constexpr std::size_t kAllListed = 256;

DirectionReport report_of(const emulator::Pipeline& pipeline, emulator::Accounting accounting,
                          const Histogram& release_error, const Histogram& pass_latency) {
  DirectionReport report{std::move(accounting), spread_of(release_error), spread_of(pass_latency)};
  for (std::size_t i = 0; i < pipeline.rules().size(); ++i) {
    const emulator::Rule& rule = pipeline.rules()[i];
    // Statistics are some kilobytes per rule, copied while the frames wait.
    if (pipeline.rules().size() > kAllListed &&
        report.accounting.rules[rule.index()].received.frames == 0)
      continue;
    report.stages.push_back({pipeline.rule_names()[rule.index()],
                             rule.totals(),
                             {},
                             rule.stats(),
                             pipeline.shared_configs(),
                             i});
  }
  report.events = {pipeline.events().outcomes(), pipeline.events().untracked(),
                   pipeline.event_hits()};
  return report;
}

bool is_listed(const emulator::Accounting& accounting, const emulator::Account& rule) noexcept {
  return accounting.rules.size() <= kAllListed || rule.received.frames + rule.created.frames > 0 ||
         &rule == &accounting.rules.back();
}

void audit(DirectionReport& direction) {
  for (StagesReport& stages : direction.stages)
    stages.checks = emulator::audit((*stages.configs)[stages.place], stages.since_change);
}

}  // namespace lw::impair
