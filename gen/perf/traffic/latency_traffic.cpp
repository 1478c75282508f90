// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/traffic/latency_traffic.h"

#include <algorithm>
#include <cmath>

#include "nic/clock.h"

namespace lw::gen {

using transport::Completion;
using transport::Status;

void LatencyTraffic::start() {
  if (lane().carries() && lane().takes_receive()) lane().post_receive();
  ping();
}

void LatencyTraffic::on_completion(Connection& /*connection*/, const Completion& done) {
  if (done.status != Status::success) return note_failure();
  if (done.arrival != lane().carries()) return;  // a ping-pong's own completion is no answer
  const Duration round_trip = since_post();
  const bool right =
      done.arrival ? lane().right_echo(done, lane().posted() - 1) : lane().right(done);
  if (done.arrival && lane().takes_receive()) lane().post_receive();
  count(right, done.arrival ? round_trip / 2 : round_trip);
}

void LatencyTraffic::note_failure() noexcept {
  ++result.latency.failed;
  ++result.bandwidth.failed;
}

void LatencyTraffic::count(bool right, Duration latency) {
  if (!right) ++result.wrong;
  const std::int64_t ns = latency.count();
  result.latency.ns.add(ns);
  sum_ += static_cast<double>(ns);
  squares_ += static_cast<double>(ns) * static_cast<double>(ns);
  ++completed_;
  if (completed_ < each_) ping();
}

void LatencyTraffic::finish() {
  const auto n = static_cast<double>(result.latency.ns.count());
  if (n > 0) {
    const double mean = sum_ / n;
    result.latency.deviation_ns = std::sqrt(std::max(0.0, squares_ / n - mean * mean));
  }
}

void LatencyTraffic::ping() {
  posted_at_ = nic::now();
  lane().post(posted_at_);
}

}  // namespace lw::gen
