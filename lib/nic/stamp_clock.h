// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"
#include "core/time.h"

namespace lw::nic {

class Port;

enum class ClockKind : std::uint8_t {
  steady,  // CLOCK_MONOTONIC: time since the machine's boot
  tai,     // CLOCK_TAI: common to all machines that PTP or NTP synchronizes
  ptp,     // the PTP hardware clock of a port
};

/// The clock for frames' time stamps, and for their comparison on arrival. Programs pace frames by
/// now(), and add offset() to it for stamps. Any thread.
class StampClock {
 public:
  static constexpr std::uint8_t kTai = 2, kPtp = 3, kSteady = 64;

  /// The steady clock.
  StampClock();
  /// `port` is used for ClockKind::ptp only and may be null otherwise; it must outlive the clock.
  /// Errors (environment): the port has no PTP hardware clock.
  static Result<StampClock> open(ClockKind kind, const Port* port);

  /// Makes the steady clock show that of another machine: `ahead` is to be added, `id` and `name`
  /// are those of the other clock.
  void follow(Duration ahead, std::uint8_t id, const std::string& name);
  /// True for a steady clock, which no other machine shares.
  [[nodiscard]] bool machines_own() const noexcept { return kind_ == ClockKind::steady; }

  /// Difference to add to now(). It changes as the clocks are adjusted: read it every millisecond.
  [[nodiscard]] Duration offset() const noexcept;
  /// Number of the clock in signatures: kTai, kPtp, or a number from kSteady on that most other
  /// boots and machines don't have.
  [[nodiscard]] std::uint8_t id() const noexcept { return id_; }
  /// Name for people: "CLOCK_TAI (37 s ahead of UTC)".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  ClockKind kind_ = ClockKind::steady;
  std::uint8_t id_ = 0;
  Duration ahead_{0};         // see follow()
  int clock_ = 0;             // a clockid_t
  std::uint16_t device_ = 0;  // DPDK's number of the port whose PTP clock it reads
  bool through_dpdk_ = false;
  std::string name_;
};

/// Parses "steady", "tai" or "ptp".
Parsed<ClockKind> parse_clock(std::string_view text);

}  // namespace lw::nic
