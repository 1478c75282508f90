// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>

#include "sim/mishaps.h"
#include "sim/path_rules.h"
#include "transport/fifo.h"
#include "transport/payload_store.h"

namespace lw::sim {

struct LineConfig {
  Duration delay{};  // constant; of NICs and hosts alone where there are rules
  MishapConfig mishaps;
  std::shared_ptr<const PathRules> rules;  // what lies between; null: nothing but the delay
  emulator::Direction direction = emulator::Direction::west_to_east;  // of the rules

  /// What every packet takes at least.
  [[nodiscard]] Duration least_delay() const noexcept {
    return delay + (rules ? rules->least_delay(direction) : Duration{});
  }
};

struct LineCounters {
  std::uint64_t entered = 0, delivered = 0, duplicated = 0;
  std::uint64_t lost = 0, tail_dropped = 0, corrupted = 0, marked = 0, delayed = 0;
};

/// One direction of a path: packets enter when their last byte has left a NIC, go through the
/// path's rules where it has any, and are delivered a constant delay later, in order, but for those
/// that the configuration mishandles. A constant delay makes a queue of a line, so an event costs
/// no search. Every packet that enters, or is made here, is delivered or dropped: entered +
/// duplicated = delivered + lost + tail_dropped + in_flight().
class Line {
 public:
  /// `store` outlives it; the payloads of dropped packets go back to it.
  Line(const LineConfig& config, transport::PayloadStore& store);

  /// A packet on its way, and when it is delivered.
  struct Flight {
    Instant at;
    transport::Packet packet;
  };

  void enter(const transport::Packet& packet, std::int64_t last_byte_ps) {
    Flight& flight = draft();
    flight.packet = packet;
    enter(flight, last_byte_ps);
  }
  /// The same without a copy, which would wait for the stores of a packet that was just made: its
  /// place on the line, to be filled there; it enters before anything else does, or not at all.
  Flight& draft() { return fifo_.spare(); }
  void enter(Flight& draft, std::int64_t last_byte_ps) {
    if (!bare_ || on_enter) [[unlikely]]
      return enter_watched(draft.packet, last_byte_ps);
    ++counters_.entered;
    last_ = std::max(last_, instant_of(last_byte_ps) + config_.delay);
    draft.at = last_;
    fifo_.commit();
  }

  /// When the next packet is delivered; Instant::max(): none is on the way.
  [[nodiscard]] Instant next_at() const noexcept {
    const Instant next = fifo_.empty() ? Instant::max() : fifo_.front().at;
    return bare_ ? next : std::min(next, next_unordered());
  }
  /// Packets that wait for others to overtake them, but not beyond `now`, are on their way now:
  /// before front(), on a line with rules.
  void ripen(Instant now) {
    if (ruled_) [[unlikely]]
      ripen_ruled(now);
  }
  /// That packet, until pop(); only when there is one, both. The payload's slot is the caller's.
  [[nodiscard]] const transport::Packet& front() const noexcept {
    return in_order() ? fifo_.front().packet : late_.top().packet;
  }
  void pop() {
    ++counters_.delivered;
    in_order() ? fifo_.pop() : late_.pop();
  }

  [[nodiscard]] std::size_t in_flight() const noexcept {
    return fifo_.size() + late_.size() + (ruled_ ? ruled_->held() : 0);
  }
  [[nodiscard]] LineCounters counters() const noexcept;
  [[nodiscard]] const LineConfig& config() const noexcept { return config_; }

  /// Called with each packet that enters, mishaps not yet counted in, or is delivered, and when
  /// that is.
  std::function<void(Instant, const transport::Packet&)> on_enter, on_leave;

 private:
  struct Late {
    Instant at;
    std::uint64_t number = 0;  // among equals the first comes first
    transport::Packet packet;
    friend bool operator<(const Late& a, const Late& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  [[nodiscard]] bool in_order() const noexcept {
    return bare_ || late_.empty() || (!fifo_.empty() && fifo_.front().at <= late_.top().at);
  }
  [[nodiscard]] Instant next_unordered() const noexcept;
  /// ps >= 0 to the nearest ns. Unsigned, which divides in half the steps.
  static constexpr Instant instant_of(std::int64_t ps) noexcept {
    return instant_from_ns(
        static_cast<std::int64_t>((static_cast<std::uint64_t>(ps) + 500) / 1000));
  }
  void carry(const transport::Packet& packet, Instant at);
  void enter_watched(transport::Packet packet, std::int64_t last_byte_ps);
  void mishandle(transport::Packet packet, Instant at, Disposition fate);
  void ripen_ruled(Instant now);
  void enter_rules(const transport::Packet& packet, std::uint64_t number, std::int64_t ps);
  void place(const transport::Packet& packet, Instant at);
  void travel(const transport::Packet& packet, std::uint64_t number, std::int64_t ps);

  LineConfig config_;
  transport::PayloadStore& store_;
  std::unique_ptr<RuledPath> ruled_;
  Mishaps mishaps_;
  bool bare_;  // a delay and nothing else: no packet is ever late
  transport::Fifo<Flight> fifo_;
  std::priority_queue<Late> late_;
  Instant last_;
  Instant last_in_;           // what entered the rules last
  std::uint64_t placed_ = 0;  // out of order
  LineCounters counters_;
};

}  // namespace lw::sim
