// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/latency_traffic.h"

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
  if (done.status != Status::success) {
    ++result.latency.failed;
    ++result.bandwidth.failed;
    return;
  }
  if (done.arrival != lane().carries()) return;  // a ping-pong's own completion is no answer
  const std::int64_t round_trip = (nic::now() - posted_at_).count();
  const bool right =
      done.arrival ? lane().right_echo(done, lane().posted() - 1) : lane().right(done);
  if (!right) ++result.wrong;
  add(done.arrival ? round_trip / 2 : round_trip);
  ++completed_;
  if (done.arrival && lane().takes_receive()) lane().post_receive();
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

void LatencyTraffic::add(std::int64_t ns) {
  result.latency.ns.add(ns);
  sum_ += static_cast<double>(ns);
  squares_ += static_cast<double>(ns) * static_cast<double>(ns);
}

}  // namespace lw::gen
