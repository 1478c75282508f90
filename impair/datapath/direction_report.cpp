// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/direction_report.h"

#include <algorithm>
#include <bit>

namespace lw::impair {

Spread spread_of(const Histogram& histogram) {
  return {.count = histogram.count(),
          .minimum = histogram.minimum(),
          .p50 = histogram.quantile(0.5),
          .p99 = histogram.quantile(0.99),
          .p999 = histogram.quantile(0.999),
          .maximum = histogram.maximum(),
          .sum = histogram.sum(),
          .up_to = histogram.counts_up_to(Spread::kLimits)};
}

std::vector<Histogram::Bucket> delays_of(const Histogram& histogram) {
  constexpr int kBits = 9;  // significant bits of a value that are kept
  std::vector<Histogram::Bucket> merged;
  for (const auto& bucket : histogram.occupied()) {
    const auto width = std::bit_width(static_cast<std::uint64_t>(bucket.first));
    const int rest = std::max(static_cast<int>(width) - kBits, 0);
    const std::int64_t first = bucket.first >> rest << rest;
    if (merged.empty() || merged.back().first != first)
      merged.push_back({first, first + (std::int64_t{1} << rest) - 1, 0});
    merged.back().count += bucket.count;
  }
  return merged;
}

/// Up to this number of rules a report lists all of them; of more, those that received frames.
constexpr std::size_t kAllListed = 256;

DirectionReport report_of(const emulator::Pipeline& pipeline, emulator::Accounting accounting,
                          Instant now) {
  DirectionReport report{.accounting = std::move(accounting)};
  for (std::size_t i = 0; i < pipeline.rules().size(); ++i) {
    const emulator::Rule& rule = pipeline.rules()[i];
    // Statistics are some kilobytes per rule. No frame is forwarded while they are copied.
    if (pipeline.rules().size() > kAllListed &&
        report.accounting.rules[rule.index()].received.frames == 0)
      continue;
    report.stages.push_back({pipeline.rule_names()[rule.index()],
                             rule.totals(),
                             {},
                             rule.stats(),
                             pipeline.shared_configs(),
                             i,
                             rule.queued_bytes(now)});
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
