// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gen/endpoint/client_session.h"
#include "perf/rate_meter.h"

namespace lw::gen::endpoint {

/// Sends messages on all QPs of a session, as many at once as tx_depth allows, and measures their
/// rate.
class BandwidthRun {
 public:
  /// The arguments must outlive the object. Results are added to `outcome`.
  BandwidthRun(ClientSession& session, PerfOutcome& outcome)
      : session_(session),
        config_(session.config()),
        outcome_(outcome),
        meter_(config_, config_.iterations * config_.qps) {}

  /// Runs until all messages or the time are over. Errors (failed): a request that completed in
  /// error, and those of ClientSession::idle().
  Result<void> run();

  // The steps of run(), for a side that receives, too.

  /// Posts the first messages.
  Result<void> begin();
  /// Takes completions and posts more. Returns true if there was anything to do.
  Result<bool> step();
  /// Returns true while requests are open.
  [[nodiscard]] bool busy() const noexcept;
  /// Computes the result. Call it once, when it is no longer busy.
  void finish();

 private:
  using Flow = ClientSession::Flow;

  [[nodiscard]] bool may_post(const Flow& flow) const noexcept;
  [[nodiscard]] std::uint64_t list_length(const Flow& flow) const noexcept;
  Result<void> post_more(Flow& flow);
  Result<void> post_signalled(Flow& flow);
  Result<void> complete(const ibv_wc& done);

  ClientSession& session_;
  const perf::PerfConfig& config_;
  PerfOutcome& outcome_;
  std::vector<ibv_send_wr> list_;
  std::vector<ibv_sge> pieces_;
  std::uint64_t every_ = 1;  // every n-th request is signalled
  perf::RateMeter meter_;
  Instant start_;
  std::optional<Instant> until_;
};

}  // namespace lw::gen::endpoint
