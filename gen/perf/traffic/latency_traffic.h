// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/traffic/client_traffic.h"

namespace lw::gen {

/// One message at a time; its latency by the clock when it is posted and when its end is seen.
class LatencyTraffic : public ClientTraffic {
 public:
  using ClientTraffic::ClientTraffic;

  /// Posts the first messages; what follows comes by completions.
  void start();
  void on_completion(Connection& connection, const transport::Completion& done) override;
  /// Works the result out, when done().
  void finish();

 protected:
  ClientLane& lane() noexcept { return *lanes_.front(); }
  virtual void ping();
  [[nodiscard]] Duration since_post() const noexcept { return nic::now() - posted_at_; }
  void note_failure() noexcept;
  /// A message is through, as it must be or not; the next one goes.
  void count(bool right, Duration latency);

 private:
  Instant posted_at_;
  double sum_ = 0, squares_ = 0;
};

}  // namespace lw::gen
