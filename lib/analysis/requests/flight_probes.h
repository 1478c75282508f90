// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>

#include "analysis/requests/flight_times.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// Measures round trips of some SENDs and WRITEs that ask for an ACK, up to kMost at once: those
/// between are not looked at, so that a packet costs little. What is sent again is no sample.
class FlightProbes {
 public:
  /// Results are added to `times`, which must outlive the object.
  explicit FlightProbes(FlightTimes& times) noexcept : times_(times) {}

  /// Adds a new request. `outstanding`: PSNs that are not acknowledged, with the request's;
  /// `progressed`: time of the request or ACK before it.
  void sent(const Sent& sent, Sequence outstanding, Instant progressed) noexcept {
    if (outstanding == sent.span) begin_busy(sent, progressed);
    if (last_sent_ != Instant::min())
      times_.add_gap(stamp_difference(sent.stamp, last_sent_).count());
    last_sent_ = sent.stamp;
    if (count_ < kMost && sent.ack_req && !sent.fetches && sent.psn >= next_)
      probe(sent, outstanding);
  }
  /// All PSNs before `end` are acknowledged.
  void acknowledged(Sequence end, Instant now) noexcept {
    if (count_ > 0 && probes_[first_].psn < end) answered(end, now);
  }
  /// Packets are sent again: forgets the probes.
  void forget() noexcept { count_ = 0; }

 private:
  static constexpr std::size_t kMost = 8;
  struct Probe {
    Sequence psn = 0;
    Instant sent;
    std::uint32_t in_flight = 0;
  };
  void begin_busy(const Sent& sent, Instant progressed) noexcept;
  void probe(const Sent& sent, Sequence outstanding) noexcept;
  void answered(Sequence end, Instant now) noexcept;
  void add(const Probe& probe, Instant now) noexcept;

  FlightTimes& times_;
  std::array<Probe, kMost> probes_{};  // a ring, from first_ on
  std::size_t first_ = 0, count_ = 0;
  Sequence next_ = 0;     // the next probe is at or behind it
  Sequence counted_ = 0;  // PSNs before it were counted as acknowledged
  Instant since_ = Instant::min(), last_sent_ = Instant::min();
};

}  // namespace lw::analysis
