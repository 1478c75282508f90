// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/traffic/client_traffic.h"

namespace lw::gen {

/// Keeps each QP's send queue full until its messages are all posted, or its time is over.
class BandwidthTraffic : public ClientTraffic {
 public:
  BandwidthTraffic(const sim::PerfConfig& config, const std::vector<Dialled>& dialled)
      : ClientTraffic(config, dialled), duration_(config.duration) {}

  /// Posts the first messages; what follows comes by completions.
  void start();
  void on_completion(Connection& connection, const transport::Completion& done) override;
  /// Works the result out, when done().
  void finish();

 private:
  [[nodiscard]] bool may_post(const ClientLane& lane, Instant now) const noexcept {
    return until_ ? now < *until_ : lane.posted() < each_;
  }
  /// The first half fills the path and the queues; the second is the steady rate.
  void note_half(Instant now) noexcept;

  Duration duration_;  // 0: not by time
  Instant start_, half_at_;
  std::uint64_t half_bytes_ = 0;
};

}  // namespace lw::gen
