// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/client.h"

#include <ctime>

#include "gen/endpoint/bandwidth_run.h"
#include "gen/endpoint/both_ways.h"
#include "gen/endpoint/latency_run.h"

namespace lw::gen::endpoint {
namespace {

/// Returns the CPU time of this process, user and system.
double cpu_seconds() noexcept { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

MeasuredDevice description(const Device& device, const VerbsClientOptions& options) {
  const VerbsOptions& verbs = options.verbs;
  return {.port = device.name(),
          .peer = options.connect,
          .inlined = verbs.inlined,
          .poll = verbs.events ? "event" : "busy",
          .post_list = verbs.list,
          .signal = verbs.periodic ? "periodic" : "all",
          .checked = verbs.checked,
          .server = {}};
}

Result<PerfOutcome> run_session(const Device& device, const VerbsClientOptions& options,
                                const perf::PerfConfig& config, bool latency,
                                const std::atomic<bool>& stop) {
  PerfOutcome outcome;
  outcome.device = description(device, options);
  ClientSession session(device, options, config, latency, stop);
  if (auto opened = session.open(); !opened) return std::unexpected(opened.error());
  const double cpu = cpu_seconds();
  const Instant start = time_now();
  auto ran = latency       ? LatencyRun(session, outcome).run()
             : config.both ? run_both_ways(device, session, outcome)
                           : BandwidthRun(session, outcome).run();
  if (!ran) return std::unexpected(ran.error());
  const Duration elapsed = time_now() - start;
  outcome.cpu_share = (cpu_seconds() - cpu) / (static_cast<double>(elapsed.count()) * 1e-9);
  outcome.machine = Machine{.stalls = session.stalls(), .elapsed = elapsed};
  auto ended = config.both ? session.end_both(outcome) : session.end(outcome);
  if (!ended) return std::unexpected(ended.error());
  return outcome;
}

}  // namespace

Result<VerbsClient> VerbsClient::open(const VerbsClientOptions& options,
                                      const std::atomic<bool>& stop) {
  DeviceOptions wanted = options.device;
  if (wanted.name.empty()) wanted.name = device_towards(handover::host_of(options.connect));
  auto device = Device::open(wanted);
  if (!device) return std::unexpected(device.error());
  return VerbsClient(std::move(*device), options, stop);
}

Result<PerfOutcome> VerbsClient::run(const perf::PerfConfig& config, bool latency) {
  perf::PerfConfig own = config;
  if (own.qp.mtu == 0) own.qp.mtu = device_.mtu();
  if (auto fits = device_.check_mtu(own.qp.mtu); !fits) return std::unexpected(fits.error());
  return run_session(device_, options_, own, latency, stop_);
}

}  // namespace lw::gen::endpoint
