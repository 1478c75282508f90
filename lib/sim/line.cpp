// SPDX-License-Identifier: BSD-3-Clause
#include "sim/line.h"

#include <algorithm>

namespace lw::sim {

using transport::Packet;

Line::Line(const LineConfig& config, transport::PayloadStore& store)
    : config_(config),
      store_(store),
      mishaps_(config.mishaps),
      bare_(!config.rules && !mishaps_.any()) {
  if (!config_.rules) return;
  // Repeats differ by the mishaps' seed, from 1.
  const std::uint64_t seed = config_.rules->seed + config_.mishaps.seed - 1;
  ruled_ = std::make_unique<RuledPath>(*config_.rules, config_.direction, seed);
}

/// Where more than a delay lies between, or somebody looks on.
void Line::enter_watched(Packet packet, std::int64_t last_byte_ps) {
  if (on_enter) on_enter(instant_of(last_byte_ps), packet);
  const std::uint64_t number = counters_.entered++;
  if (ruled_) [[unlikely]] {
    enter_rules(packet, number, last_byte_ps);
  } else {
    travel(packet, number, last_byte_ps);
  }
}

void Line::enter_rules(const Packet& packet, std::uint64_t number, std::int64_t ps) {
  if (mishaps_.any() && mishaps_.decide(packet, number) == Disposition::drop) {
    ++counters_.lost;
    return store_.release(packet.data);
  }
  last_in_ = std::max(last_in_, instant_of(ps));  // two NICs may hand over within a packet's time
  const std::size_t held_before = ruled_->held();
  ruled_->enter(packet, number, last_in_);
  // Of what is on its way now, those that were held before have holders of their own.
  const std::size_t holders = ruled_->out().size() + ruled_->held() - held_before;
  if (holders == 0) store_.release(packet.data);
  for (std::size_t i = 1; i < holders; ++i) store_.retain(packet.data);
  for (const RuledPath::Out& out : ruled_->out()) place(out.packet, out.at + config_.delay);
}

/// The next of those that aren't in the queue.
Instant Line::next_unordered() const noexcept {
  Instant next = late_.empty() ? Instant::max() : late_.top().at;
  if (ruled_ && ruled_->held() > 0) next = std::min(next, ruled_->next_deadline() + config_.delay);
  return next;
}

void Line::place(const Packet& packet, Instant at) {
  if (!fifo_.empty() && at < fifo_.back().at) return late_.push({at, placed_++, packet});
  Flight& flight = fifo_.add();
  flight.at = at;
  flight.packet = packet;
}

void Line::ripen_ruled(Instant now) {
  while (ruled_->held() > 0 && ruled_->next_deadline() + config_.delay <= now) {
    const Instant at = ruled_->next_deadline() + config_.delay;
    late_.push({at, placed_++, ruled_->take_held()});
  }
}

LineCounters Line::counters() const noexcept {
  LineCounters sum = counters_;
  if (!ruled_) return sum;
  const RuleCounters& rules = ruled_->counters();
  sum.lost += rules.lost;
  sum.tail_dropped += rules.tail_dropped;
  sum.corrupted += rules.corrupted;
  sum.marked += rules.marked;
  sum.duplicated += rules.duplicated;
  sum.delayed += rules.delayed;
  return sum;
}

void Line::travel(const Packet& packet, std::uint64_t number, std::int64_t ps) {
  const Instant at = instant_of(ps) + config_.delay;
  const Disposition fate = mishaps_.any() ? mishaps_.decide(packet, number) : Disposition::pass;
  if (fate == Disposition::pass) {
    carry(packet, at);
  } else {
    mishandle(packet, at, fate);
  }
}

void Line::carry(const Packet& packet, Instant at) {
  last_ = std::max(last_, at);  // two NICs may hand over within one packet's time
  Flight& flight = fifo_.add();
  flight.at = last_;
  flight.packet = packet;
}

void Line::mishandle(Packet packet, Instant at, Disposition fate) {
  switch (fate) {
    case Disposition::drop:
      ++counters_.lost;
      return store_.release(packet.data);
    case Disposition::delay:
      ++counters_.delayed;
      return late_.push({at + config_.mishaps.reorder_delay, counters_.entered, packet});
    case Disposition::duplicate:
      ++counters_.duplicated;
      store_.retain(packet.data);
      carry(packet, at);
      break;
    case Disposition::corrupt:
      ++counters_.corrupted;
      packet.icrc_wrong = true;
      break;
    case Disposition::mark:
      ++counters_.marked;
      packet.congestion_experienced = true;
      break;
    case Disposition::pass:
      break;
  }
  carry(packet, at);
}

}  // namespace lw::sim
