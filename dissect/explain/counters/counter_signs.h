// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/figure.h"
#include "dissect/explain/counters/counter_file.h"
#include "dissect/explain/counters/counter_table.h"

namespace lw::dissect {

/// A counter of a port that rose between two readings.
struct CounterChange {
  std::string name;
  std::uint64_t rise = 0;
  std::string what;  // its meaning; empty: it is not known

  static const FigureTable& figures();
};

/// What a port's counters say by themselves.
struct CounterSigns {
  static constexpr std::size_t kSigns = static_cast<std::size_t>(CounterSign::link) + 1;
  std::array<std::uint64_t, kSigns> events{};  // by sign
  std::array<std::string, kSigns> counters{};  // "rx_global_pause +9000", those of each sign
  std::vector<CounterChange> changes = {};     // all that rose

  [[nodiscard]] std::uint64_t of(CounterSign sign) const noexcept {
    return events[static_cast<std::size_t>(sign)];
  }
  [[nodiscard]] const std::string& text_of(CounterSign sign) const noexcept {
    return counters[static_cast<std::size_t>(sign)];
  }
  /// Whether the port was paused, paused others, dropped frames for want of room, or got marks or
  /// CNPs from the network.
  [[nodiscard]] bool show_congestion() const noexcept;
  /// A sentence for each sign.
  [[nodiscard]] std::vector<std::string> sentences() const;
  /// Why these are signs of congestion: "the port was paused (rx_global_pause +9000)".
  [[nodiscard]] std::string congestion_text() const;
};

/// Reads the signs from the differences of two readings of one port.
CounterSigns signs_of(const PortCounters& risen);

}  // namespace lw::dissect
