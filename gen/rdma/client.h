// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "gen/perf/report/perf_report.h"
#include "gen/rdma/device.h"
#include "sim/perf.h"

namespace lw::gen::rdma {

/// Verbs settings of a run, in addition to sim::PerfConfig, of which it uses operation, size, QPs,
/// iterations, duration and read_back, and of qp: transport, mtu, tx_depth, max_rd_atomic, timeout,
/// retries.
struct VerbsOptions {
  bool inlined = false;     // inline data in the work requests of SENDs and WRITEs
  bool events = false;      // sleep until a completion, instead of polling
  std::uint32_t list = 1;   // work requests per post
  bool periodic = false;    // one completion per tx_depth / 2 requests
  std::uint32_t slots = 0;  // least number of slots of a QP in the server's region
  bool checked = true;      // messages differ in their content, which is checked
};

/// The server of a run, and the local device.
struct MeasureOptions {
  std::string connect, token;
  DeviceOptions device;
  Duration wait = std::chrono::seconds(10);  // longest wait for the TCP connection
  VerbsOptions verbs;
};

/// Measures between this host and a server, like perftest. One thread.
class Measurement {
 public:
  /// Opens the device; without a name, the device on the route to the server. `options` and `stop`
  /// must outlive the object; `stop` ends a run early. Errors: those of the device.
  static Result<Measurement> open(const MeasureOptions& options, const std::atomic<bool>& stop);

  /// Runs one configuration in its own session. `latency`: one message at a time, there and back;
  /// otherwise as many as tx_depth allows, on all QPs. Errors: a refusal, a request that completed
  /// in error, a server that is gone, a limit of the device.
  Result<PerfOutcome> run(const sim::PerfConfig& config, bool latency);

  [[nodiscard]] const Device& device() const noexcept { return device_; }

 private:
  Measurement(Device device, const MeasureOptions& options, const std::atomic<bool>& stop)
      : device_(std::move(device)), options_(options), stop_(stop) {}

  Device device_;
  const MeasureOptions& options_;
  const std::atomic<bool>& stop_;
};

}  // namespace lw::gen::rdma
