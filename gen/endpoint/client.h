// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "gen/endpoint/client_session.h"
#include "gen/endpoint/device.h"
#include "gen/perf/report/perf_report.h"
#include "perf/config.h"

namespace lw::gen::endpoint {

/// Measures between this host and a server, like perftest. One thread.
class VerbsClient {
 public:
  /// Opens the device; without a name, the device on the route to the server. `options` and `stop`
  /// must outlive the object; `stop` ends a run early. Errors: those of the device.
  static Result<VerbsClient> open(const VerbsClientOptions& options, const std::atomic<bool>& stop);

  /// Runs one configuration in its own session. `latency`: one message at a time, there and back;
  /// otherwise as many as tx_depth allows, on all QPs. Errors: a refusal, a request that completed
  /// in error, a server that is gone, a limit of the device.
  Result<PerfOutcome> run(const perf::PerfConfig& config, bool latency);

  [[nodiscard]] const Device& device() const noexcept { return device_; }

 private:
  VerbsClient(Device device, const VerbsClientOptions& options, const std::atomic<bool>& stop)
      : device_(std::move(device)), options_(options), stop_(stop) {}

  Device device_;
  const VerbsClientOptions& options_;
  const std::atomic<bool>& stop_;
};

}  // namespace lw::gen::endpoint
