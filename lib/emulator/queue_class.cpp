// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/queue_class.h"

#include <bit>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"

namespace lw::emulator {

bool QueueClass::present(const RuleConfig& rule) noexcept { return rule.shared.has_value(); }

QueueClass::QueueClass(const RuleConfig& rule, const StageSetup& setup)
    : queue_(setup.queue),
      cls_(rule.shared->cls),
      rule_(setup.index),
      ns_per_byte_(8e9 / static_cast<double>(rule.shared->queue.rate_bps)) {
  if (const PauseConfig* pfc = rule.shared->pfc()) pfc_ = *pfc;
  if (pfc_ && pfc_->emit) watch_.emplace(*pfc_);
}

void QueueClass::inherit(QueueClass& old, const RuleConfig& rule, const RuleConfig& old_rule,
                         Instant now) noexcept {
  if (rule.shared->owner != old_rule.shared->owner || cls_ != old.cls_) return;
  if (pfc_ == old.pfc_) return std::swap(watch_, old.watch_);
  const bool obeyed = old.pfc_ && old.pfc_->honour, obeys = pfc_ && pfc_->honour;
  if (obeyed && (!obeys || pfc_->priority != old.pfc_->priority)) queue_->pause(cls_, now, now);
}

void QueueClass::pause(const wire::PfcFields& asked, Instant now, Queue::Stats& stats) noexcept {
  if (!pfc_ || !pfc_->honour || !asked.quanta[pfc_->priority]) return;
  const double rate_bps = 8e9 / ns_per_byte_;
  const Instant until = now + time_of_quanta(*asked.quanta[pfc_->priority], rate_bps);
  // Pauses don't add up: the latest one counts.
  stats.pauses.silent_ns += (until - std::max(now, queue_->frames.paused_until(cls_))).count();
  ++stats.pauses.heard;
  queue_->pause(cls_, now, until);
}

void QueueClass::describe(const RuleConfig& rule, StageTexts& texts) {
  const QueueUse& use = *rule.shared;
  const QueueClassConfig& own = use.queue.classes[use.cls];
  std::string text = fmt::format(
      "class {} of {}, priority {}, weight {}, of the queue of rule {}: {}, buffer {}", use.cls,
      use.queue.classes.size(), own.order.priority, own.order.weight, use.owner,
      format_bit_rate(static_cast<double>(use.queue.rate_bps)), amount(use.queue.buffer_bytes));
  if (own.buffer.reserve_bytes > 0)
    text += fmt::format(", {} of it reserved", amount(own.buffer.reserve_bytes));
  if (own.buffer.limit_bytes != BufferShare::kNoLimit)
    text += fmt::format(", at most {}", amount(own.buffer.limit_bytes));
  if (std::isfinite(own.buffer.alpha))
    text += fmt::format(", at most {} times what is free", own.buffer.alpha);
  if (const PauseConfig* pfc = use.pfc()) text += pause_text(*pfc);
  texts.emplace_back(Queue::kName, text);
}

namespace {

/// The largest difference that deficit round robin allows between two classes of one priority, in
/// bytes per unit of weight: each has had at most three turns more than the other, and each turn
/// ends within a frame of its quantum.
double widest_allowed(const QueueUse& use, double largest_frame) {
  const std::uint32_t priority = use.queue.classes[use.cls].order.priority;
  std::uint32_t divisor = 0, least = kLargestWeight;
  for (const QueueClassConfig& c : use.queue.classes) {
    if (c.order.priority != priority) continue;
    divisor = std::gcd(divisor, c.order.weight);
    least = std::min(least, c.order.weight);
  }
  return 3.0 * use.queue.quantum_bytes / divisor + 2 * largest_frame / least;
}

/// The widest difference of all priorities is known, so the largest bound counts.
double widest_allowed(const QueueUse& use, const ServiceStats& seen) {
  double most = 0;
  QueueUse other = use;
  for (other.cls = 0; other.cls < use.queue.classes.size(); ++other.cls)
    most = std::max(most, widest_allowed(other, static_cast<double>(seen.largest)));
  return most;
}

}  // namespace

/// Checks what left the whole queue: its rate while it was busy, its fullest buffer, that no class
/// overtook one of a higher priority, and the shares of classes of one priority.
void QueueClass::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  const ServiceStats& seen = stats.service;
  const QueueUse& use = *rule.shared;
  if (seen.link.frames == 0) return;
  const auto rate_bps = static_cast<double>(use.queue.rate_bps);
  audit_busy(seen.link, static_cast<double>(seen.link.busy_bytes) * 8e9 / rate_bps, checks);
  const auto buffer = static_cast<double>(use.queue.buffer_bytes);
  checks.push_back({Queue::kNumber, "fullest buffer", seen.link.frames, buffer,
                    static_cast<double>(seen.peak_bytes), 0, buffer, CheckUnit::bytes});
  if (use.queue.classes.size() < 2) return;
  checks.push_back({Queue::kNumber, "left before a higher priority", seen.link.frames, 0,
                    static_cast<double>(seen.overtook), 0, 0, CheckUnit::frames});
  if (seen.shared > 0)
    checks.push_back({Queue::kNumber, "difference of shares, per weight", seen.shared, 0,
                      seen.widest, 0, widest_allowed(use, seen), CheckUnit::bytes});
}

void QueueClass::add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept {
  const SharedQueueConfig& queue = rule.shared->queue;
  ample.total += Duration{static_cast<Duration::rep>(static_cast<double>(queue.buffer_bytes) * 8e9 /
                                                     static_cast<double>(queue.rate_bps))};
}

std::uint64_t QueueClass::bytes_needed(const RuleConfig& rule) noexcept {
  constexpr std::uint64_t kWaiting = 16;  // of a link, for each frame in the queue
  const QueueUse& use = *rule.shared;
  const std::uint64_t own = std::bit_ceil(RulesQueue::Frames::most_inside(use.queue)) * kWaiting;
  return use.owner == rule.name ? own + RulesQueue::Frames::bytes_needed(use.queue) : own;
}

}  // namespace lw::emulator
