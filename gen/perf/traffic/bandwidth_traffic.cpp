// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/traffic/bandwidth_traffic.h"

#include "nic/clock.h"

namespace lw::gen {

using transport::Completion;
using transport::Status;

void BandwidthTraffic::start() {
  start_ = nic::now();
  if (duration_ > Duration{}) until_ = start_ + duration_;
  for (const auto& lane : lanes_) {
    while (may_post(*lane, start_) && lane->post(start_)) {
    }
  }
}

void BandwidthTraffic::on_completion(Connection& connection, const Completion& done) {
  if (done.arrival) return;
  if (done.status != Status::success) {
    ++result.bandwidth.failed;
    return;
  }
  ClientLane& lane = lane_of(connection);
  if (!lane.right(done)) ++result.wrong;
  ++completed_;
  result.bandwidth.bytes += done.length;
  const Instant now = nic::now();
  result.bandwidth.elapsed = now - start_;
  note_half(now);
  if (may_post(lane, now)) lane.post(now);
}

void BandwidthTraffic::finish() {
  result.bandwidth.messages = completed_;
  const auto ns = static_cast<double>(result.bandwidth.elapsed.count());
  if (ns > 0) result.bandwidth.average_bps = static_cast<double>(result.bandwidth.bytes) * 8e9 / ns;
  const auto second_half =
      static_cast<double>((start_ + result.bandwidth.elapsed - half_at_).count());
  if (half_at_ != Instant{} && second_half > 0 && result.bandwidth.failed == 0) {
    result.bandwidth.steady_bps =
        static_cast<double>(result.bandwidth.bytes - half_bytes_) * 8e9 / second_half;
  }
  for (const auto& lane : lanes_) {
    const auto& counters = lane->connection().pair().requester().counters();
    result.bandwidth.packets += counters.packets;
    result.bandwidth.retransmitted += counters.retransmitted;
    result.bandwidth.timeouts += counters.timeouts;
    result.bandwidth.cnps += lane->connection().pair().cnps_sent();
  }
}

void BandwidthTraffic::note_half(Instant now) noexcept {
  if (half_at_ != Instant{}) return;
  const bool half =
      until_ ? now >= start_ + duration_ / 2 : completed_ == (each_ * lanes_.size() + 1) / 2;
  if (!half) return;
  half_at_ = now;
  half_bytes_ = result.bandwidth.bytes;
}

}  // namespace lw::gen
