// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/bandwidth_traffic.h"

#include "nic/clock.h"

namespace lw::gen {

using transport::Completion;
using transport::Status;

void BandwidthTraffic::start() {
  start_ = nic::now();
  for (const auto& lane : lanes_) {
    while (lane->posted() < each_ && lane->post(start_)) {
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
  note_peak(now);
  if (lane.posted() < each_) lane.post(now);
}

void BandwidthTraffic::finish() {
  result.bandwidth.messages = completed_;
  const auto ns = static_cast<double>(result.bandwidth.elapsed.count());
  if (ns > 0) result.bandwidth.average_bps = static_cast<double>(result.bandwidth.bytes) * 8e9 / ns;
  for (const auto& lane : lanes_) {
    const auto& counters = lane->connection().pair().requester().counters();
    result.bandwidth.packets += counters.packets;
    result.bandwidth.retransmitted += counters.retransmitted;
    result.bandwidth.timeouts += counters.timeouts;
    result.bandwidth.cnps += lane->connection().pair().cnps_sent();
  }
}

void BandwidthTraffic::note_peak(Instant now) noexcept {
  const std::uint64_t all = each_ * lanes_.size();
  if (completed_ == (all + 1) / 2) {
    half_at_ = now;
    half_bytes_ = result.bandwidth.bytes;
  }
  if (completed_ != all || now <= half_at_) return;
  const auto ns = static_cast<double>((now - half_at_).count());
  result.bandwidth.steady_bps =
      static_cast<double>(result.bandwidth.bytes - half_bytes_) * 8e9 / ns;
}

}  // namespace lw::gen
