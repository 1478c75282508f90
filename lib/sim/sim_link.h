// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>

#include "perf/result.h"
#include "sim/path_emulation.h"
#include "transport/fifo.h"
#include "transport/memory.h"

namespace lw::sim {

struct SimLinkConfig {
  Duration delay{};  // constant; with rules, only that of NICs and hosts
  std::shared_ptr<const perf::PathRules> rules;  // the path in between; null: only the delay
  emulator::Direction direction = emulator::Direction::west_to_east;  // of the rules
  std::uint64_t seed = 1;  // repeats of a run differ by it; 1: the rules' own seed

  /// Lower bound of every packet's delay.
  [[nodiscard]] Duration least_delay() const noexcept {
    return delay + (rules ? rules->least_delay(direction) : Duration{});
  }
};

/// One direction of a simulated path. A packet enters when its last byte has left a NIC, passes
/// the path's rules, if there are any, and is delivered a constant delay later. Without rules the
/// link is a FIFO, so an event costs no search. Invariant: entered + duplicated = delivered + lost
/// + tail_dropped + in_flight().
class SimLink {
 public:
  /// `store` outlives it; payloads of dropped packets are released to it.
  SimLink(const SimLinkConfig& config, transport::PayloadStore& store);

  /// A packet in flight, and when it is delivered.
  struct InFlight {
    Instant at;
    transport::Packet packet;
  };

  void enter(const transport::Packet& packet, std::int64_t last_byte_ps) {
    InFlight& flight = draft();
    flight.packet = packet;
    enter(flight, last_byte_ps);
  }
  /// Returns the slot in which the next packet is built: a copy would wait for the stores of a
  /// packet that was just made. That packet must enter before any other does, or not at all.
  InFlight& draft() { return fifo_.spare(); }
  void enter(InFlight& draft, std::int64_t last_byte_ps) {
    if (!bare_ || on_enter) [[unlikely]]
      return enter_watched(draft.packet, last_byte_ps);
    ++counters_.entered;
    last_ = std::max(last_, instant_of(last_byte_ps) + config_.delay);
    draft.at = last_;
    fifo_.commit();
  }

  /// When the next packet is delivered; Instant::max(): none is in flight.
  [[nodiscard]] Instant next_at() const noexcept {
    const Instant next = fifo_.empty() ? Instant::max() : fifo_.front().at;
    return bare_ ? next : std::min(next, next_unordered());
  }
  /// Releases packets that wait for others to overtake them, up to `now`. Call before front().
  void release_held(Instant now) {
    if (emulation_) [[unlikely]]
      release_from_rules(now);
  }
  /// Returns the next packet, valid until pop(). Both require a packet in flight. The caller owns
  /// the payload's slot.
  [[nodiscard]] const transport::Packet& front() const noexcept {
    return in_order() ? fifo_.front().packet : late_.top().packet;
  }
  void pop() {
    ++counters_.delivered;
    in_order() ? fifo_.pop() : late_.pop();
  }

  [[nodiscard]] std::size_t in_flight() const noexcept {
    return fifo_.size() + late_.size() + (emulation_ ? emulation_->held() : 0);
  }
  [[nodiscard]] perf::PathCounters counters() const noexcept;
  [[nodiscard]] const SimLinkConfig& config() const noexcept { return config_; }

  /// Called with each packet that enters, before the rules, or is delivered, and the time.
  std::function<void(Instant, const transport::Packet&)> on_enter, on_leave;

 private:
  struct Late {
    Instant at;
    std::uint64_t number = 0;  // order among equal times
    transport::Packet packet;
    friend bool operator<(const Late& a, const Late& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  [[nodiscard]] bool in_order() const noexcept {
    return bare_ || late_.empty() || (!fifo_.empty() && fifo_.front().at <= late_.top().at);
  }
  [[nodiscard]] Instant next_unordered() const noexcept;
  /// Rounds ps >= 0 to the nearest ns. An unsigned division takes half the steps.
  static constexpr Instant instant_of(std::int64_t ps) noexcept {
    return instant_from_ns(
        static_cast<std::int64_t>((static_cast<std::uint64_t>(ps) + 500) / 1000));
  }
  void enter_watched(const transport::Packet& packet, std::int64_t last_byte_ps);
  void enter_rules(const transport::Packet& packet, std::uint64_t number, Instant at);
  void release_from_rules(Instant now);
  void place(const transport::Packet& packet, Instant at);

  SimLinkConfig config_;
  transport::PayloadStore& store_;
  std::unique_ptr<PathEmulation> emulation_;
  bool bare_;  // a delay and nothing else: no packet is ever late
  transport::Fifo<InFlight> fifo_;
  std::priority_queue<Late> late_;
  Instant last_;
  Instant last_in_;           // when the last packet entered the rules
  std::uint64_t placed_ = 0;  // packets that were put into late_
  perf::PathCounters counters_;
};

}  // namespace lw::sim
