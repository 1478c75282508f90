// SPDX-License-Identifier: BSD-3-Clause
// rule.h's part for a rule that takes over from the one of its name.
#include <algorithm>
#include <utility>

#include "emulator/rule.h"

namespace lw::emulator {

/// What the stages did is held against their parameters: where any changed they begin to count
/// anew. But losses may hang on those before, so they are counted as long as their own model lasts.
void Rule::inherit_counts(Rule& old, const RuleConfig& config,
                          const RuleConfig& old_config) noexcept {
  earlier_ = std::move(old.earlier_);
  if (config == old_config) return std::swap(stats_, old.stats_);
  if (config.loss == old_config.loss) {
    std::swap(stats_.loss, old.stats_.loss);
    std::swap(stats_.lengths, old.stats_.lengths);
  }
  earlier_.add(old.stats_);
}

void Rule::inherit(Rule& old, const RuleConfig& config, const RuleConfig& old_config) noexcept {
  inherit_counts(old, config, old_config);
  if (config.loss == old_config.loss) std::swap(loss_, old.loss_);
  if (config.police == old_config.police) std::swap(police_, old.police_);
  if (config.queue == old_config.queue) {
    std::swap(queue_, old.queue_);
    std::swap(watch_, old.watch_);
    std::swap(paused_until_, old.paused_until_);
    if (queue_) queue_->set_rate(queue_bps_);  // whatever a trace has made of it
  }
  if (config.jitter == old_config.jitter) std::swap(jitter_, old.jitter_);
  if (config.trace == old_config.trace) std::swap(trace_, old.trace_);
  if (!keep_order_) return;
  if (config.overtakes && config.delay != old_config.delay) return;
  // Right behind those that may wait on another line: which line goes first at one instant isn't
  // said.
  last_release_ = old.last_release_ + Duration{config == old_config ? 0 : 1};
}

}  // namespace lw::emulator
