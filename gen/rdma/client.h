// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "gen/perf/report/perf_report.h"
#include "gen/rdma/device.h"
#include "sim/perf.h"

namespace lw::gen::rdma {

/// How a run uses the verbs, beside what sim::PerfConfig says (operation, size, QPs, iterations,
/// duration, read_back; of qp: transport, mtu, tx_depth, max_rd_atomic, timeout, retries).
struct VerbsOptions {
  bool inlined = false;     // the data of SENDs and WRITEs is in the work request
  bool events = false;      // sleep until a completion, instead of polling
  std::uint32_t list = 1;   // work requests of one post
  bool periodic = false;    // one completion in tx_depth / 2 requests
  std::uint32_t slots = 0;  // at least, of a QP in the server\'s region
  bool checked = true;      // every message has its own bytes, and they are checked
};

/// A server, and the device to reach it with.
struct MeasureOptions {
  std::string connect, token;
  DeviceOptions device;
  Duration wait = std::chrono::seconds(10);  // for the TCP connection
  VerbsOptions verbs;
};

/// Runs like perftest's between this host and a server. One thread.
class Measurement {
 public:
  /// Opens the device; without a name, the one on the way to the server. `options` and `stop`,
  /// which ends a run early, outlive the object. Errors: the device's.
  static Result<Measurement> open(const MeasureOptions& options, const std::atomic<bool>& stop);

  /// Runs one configuration in a session of its own. `latency`: one message at a time, there and
  /// back; otherwise as many as tx_depth allows, on all QPs. Errors: a refusal, a request that
  /// completed in error, a server that is gone, a limit of the device.
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
