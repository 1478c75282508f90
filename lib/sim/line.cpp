// SPDX-License-Identifier: BSD-3-Clause
#include "sim/line.h"

#include <algorithm>

namespace lw::sim {

using transport::Packet;

namespace {

/// ps to the nearest ns.
Instant instant_of(std::int64_t ps) noexcept { return instant_from_ns((ps + 500) / 1000); }

}  // namespace

Line::Line(const LineConfig& config, transport::PayloadStore& store)
    : config_(config), store_(store), bottleneck_(config.bottleneck), mishaps_(config.mishaps) {}

void Line::enter(const Packet& packet, std::int64_t last_byte_ps) {
  if (on_enter) on_enter(instant_of(last_byte_ps), packet);
  const std::uint64_t number = counters_.entered++;
  if (bottleneck_.exists()) {
    enter_queue(packet, number, last_byte_ps);
  } else {
    travel(packet, number, last_byte_ps);
  }
}

void Line::enter_queue(Packet packet, std::uint64_t number, std::int64_t ps) {
  const auto verdict = bottleneck_.enter(line_bytes(packet), ps);
  if (verdict.dropped) {
    ++counters_.tail_dropped;
    return store_.release(packet.data);
  }
  if (verdict.marked) ++counters_.marked;
  packet.congestion_experienced = packet.congestion_experienced || verdict.marked;
  travel(packet, number, verdict.leaves_ps);
}

void Line::travel(const Packet& packet, std::uint64_t number, std::int64_t ps) {
  const Instant at = instant_of(ps) + config_.delay;
  const Fate fate = mishaps_.any() ? mishaps_.decide(packet, number) : Fate::pass;
  if (fate == Fate::pass) {
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

void Line::mishandle(Packet packet, Instant at, Fate fate) {
  switch (fate) {
    case Fate::drop:
      ++counters_.lost;
      return store_.release(packet.data);
    case Fate::delay:
      ++counters_.delayed;
      return late_.push({at + config_.mishaps.reorder_delay, counters_.entered, packet});
    case Fate::duplicate:
      ++counters_.duplicated;
      store_.retain(packet.data);
      carry(packet, at);
      break;
    case Fate::corrupt:
      ++counters_.corrupted;
      packet.icrc_wrong = true;
      break;
    case Fate::mark:
      ++counters_.marked;
      packet.congestion_experienced = true;
      break;
    case Fate::pass:
      break;
  }
  carry(packet, at);
}

void Line::pop() {
  ++counters_.delivered;
  in_order() ? fifo_.pop() : late_.pop();
}

}  // namespace lw::sim
