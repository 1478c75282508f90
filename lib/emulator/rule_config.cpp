// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/rule_config.h"

#include <algorithm>
#include <cmath>

namespace lw::emulator {
namespace {

Duration nominal(const RuleConfig& rule) noexcept {
  Duration longest = rule.delay.value_or(Duration{});
  if (!rule.trace) return longest;
  for (const auto& row : rule.trace->rows) longest = std::max(longest, row.delay.value_or(longest));
  return longest;
}

/// A full buffer's way out, at the slowest rate.
Duration queueing(const RuleConfig& rule) noexcept {
  if (!rule.queue) return {};
  double rate = rule.queue->rate_bps;
  if (rule.trace)
    for (const auto& row : rule.trace->rows) rate = std::min(rate, row.rate_bps.value_or(rate));
  return Duration{
      static_cast<Duration::rep>(static_cast<double>(rule.queue->buffer_bytes) * 8e9 / rate)};
}

}  // namespace

Duration ample_delay(const RuleConfig& rule) noexcept {
  Duration all = nominal(rule) + queueing(rule);
  if (rule.jitter)
    all += Duration{static_cast<Duration::rep>(std::max(0.0, std::ceil(ample(*rule.jitter))))};
  if (rule.reorder) all += rule.reorder->frames > 0 ? rule.reorder->at_most : rule.reorder->by;
  return all;
}

}  // namespace lw::emulator
