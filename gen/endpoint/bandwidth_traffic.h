// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/endpoint/client_traffic.h"

namespace lw::gen {

/// Keeps each QP's send queue full until its messages are all posted.
class BandwidthTraffic : public ClientTraffic {
 public:
  using ClientTraffic::ClientTraffic;

  /// Posts the first messages; what follows comes by completions.
  void start();
  void on_completion(Connection& connection, const transport::Completion& done) override;
  /// Works the result out, when done().
  void finish();

 private:
  /// The first half fills the path and the queues; the second is the steady rate.
  void note_peak(Instant now) noexcept;

  Instant start_, half_at_;
  std::uint64_t half_bytes_ = 0;
};

}  // namespace lw::gen
