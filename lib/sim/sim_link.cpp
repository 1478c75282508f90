// SPDX-License-Identifier: BSD-3-Clause
#include "sim/sim_link.h"

#include <algorithm>

namespace lw::sim {

using transport::Packet;

SimLink::SimLink(const SimLinkConfig& config, transport::PayloadStore& store)
    : config_(config), store_(store), bare_(!config.rules) {
  if (bare_) return;
  const std::uint64_t seed = config_.rules->seed + config_.seed - 1;
  emulation_ = std::make_unique<PathEmulation>(*config_.rules, config_.direction, seed);
}

/// Adds a packet to a link with rules or a listener. `packet` may be in fifo_'s spare slot.
void SimLink::enter_watched(const Packet& packet, std::int64_t last_byte_ps) {
  const Packet copy = packet;
  const Instant at = instant_of(last_byte_ps);
  if (on_enter) on_enter(at, copy);
  const std::uint64_t number = counters_.entered++;
  if (emulation_) return enter_rules(copy, number, at);
  last_ = std::max(last_, at + config_.delay);  // two NICs may send within one packet's time
  InFlight& flight = fifo_.add();
  flight.at = last_;
  flight.packet = copy;
}

void SimLink::enter_rules(const Packet& packet, std::uint64_t number, Instant at) {
  last_in_ = std::max(last_in_, at);  // two NICs may send within one packet's time
  const std::size_t held_before = emulation_->held();
  emulation_->enter(packet, number, last_in_);
  // Each packet that leaves or is held now needs a holder; those held before have their own.
  const std::size_t holders = emulation_->out().size() + emulation_->held() - held_before;
  if (holders == 0) store_.release(packet.data);
  for (std::size_t i = 1; i < holders; ++i) store_.retain(packet.data);
  for (const PathEmulation::Out& out : emulation_->out()) place(out.packet, out.at + config_.delay);
}

/// When the next packet outside of fifo_ is due.
Instant SimLink::next_unordered() const noexcept {
  Instant next = late_.empty() ? Instant::max() : late_.top().at;
  if (emulation_->held() > 0) next = std::min(next, emulation_->next_deadline() + config_.delay);
  return next;
}

void SimLink::place(const Packet& packet, Instant at) {
  if (!fifo_.empty() && at < fifo_.back().at) return late_.push({at, placed_++, packet});
  InFlight& flight = fifo_.add();
  flight.at = at;
  flight.packet = packet;
}

void SimLink::release_from_rules(Instant now) {
  while (emulation_->held() > 0 && emulation_->next_deadline() + config_.delay <= now) {
    const Instant at = emulation_->next_deadline() + config_.delay;
    late_.push({at, placed_++, emulation_->take_held()});
  }
}

perf::PathCounters SimLink::counters() const noexcept {
  perf::PathCounters all = counters_;
  if (!emulation_) return all;
  const RuleCounters& rules = emulation_->counters();
  all.lost = rules.lost;
  all.tail_dropped = rules.tail_dropped;
  all.corrupted = rules.corrupted;
  all.marked = rules.marked;
  all.duplicated = rules.duplicated;
  all.delayed = rules.delayed;
  return all;
}

}  // namespace lw::sim
