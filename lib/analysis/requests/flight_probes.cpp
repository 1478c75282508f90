// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/flight_probes.h"

#include <algorithm>

namespace lw::analysis {

/// Nothing was in flight before this request.
void FlightProbes::begin_busy(const Sent& sent, Instant progressed) noexcept {
  if (last_sent_ != Instant::min() && sent.stamp > progressed)
    add_time(times_.idle, stamp_difference(sent.stamp, progressed).count());
  since_ = sent.stamp;
  counted_ = sent.psn;
}

void FlightProbes::probe(const Sent& sent, Sequence outstanding) noexcept {
  constexpr std::uint64_t kMostInFlight = std::uint64_t{1} << 31;
  probes_[(first_ + count_++) % kMost] = {
      sent.psn, sent.stamp, static_cast<std::uint32_t>(std::min(outstanding, kMostInFlight))};
  next_ = sent.psn + std::max<Sequence>(1, outstanding / kMost);
}

void FlightProbes::answered(Sequence end, Instant now) noexcept {
  const Probe* newest = nullptr;
  while (count_ > 0 && probes_[first_].psn < end) {
    newest = &probes_[first_];
    first_ = (first_ + 1) % kMost;
    --count_;
  }
  if (newest->psn + 1 == end) add(*newest, now);  // an ACK of more says less
}

void FlightProbes::add(const Probe& probe, Instant now) noexcept {
  const std::int64_t took = stamp_difference(now, probe.sent).count();
  if (took <= 0) return;
  times_.shortest = times_.shortest == 0 ? took : std::min(times_.shortest, took);
  FlightTimes::Seen& seen =
      took - times_.shortest >= times_.shortest / 4 ? times_.high : times_.low;
  ++seen.round_trips;
  add_time(seen.waited, took);
  seen.in_flight += probe.in_flight;
  if (now <= since_ || probe.psn < counted_) return;
  add_time(seen.time, stamp_difference(now, since_).count());
  seen.acknowledged += probe.psn + 1 - counted_;
  since_ = now;
  counted_ = probe.psn + 1;
}

}  // namespace lw::analysis
