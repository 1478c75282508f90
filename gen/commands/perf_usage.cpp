// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/perf_usage.h"

#include <fmt/format.h>

#include "gen/commands/dcqcn_options.h"
#include "gen/commands/transport_option.h"

namespace lw::gen {
namespace {

/// What one side's congestion control has to do with.
void check_congestion(const CLI::App& command, const PerfCommand& options) {
  if (command.count("--qp-rate") > 0 &&
      options.options.config.qp.rate_control == transport::RateControl::none) {
    throw CLI::ValidationError("--qp-rate", "goes with --rate-control fixed or dcqcn");
  }
  if (options.sim) return;
  const bool read = options.options.operation == "read";
  const std::string elsewhere = given_of(command, read ? kReactionPoint : kNotificationPoint);
  if (elsewhere.empty()) return;
  throw CLI::ValidationError(
      elsewhere, read ? "the data of READs is sent by the responder: give it to `roce-gen respond`"
                      : "CNPs are sent by the responder, where the data arrives: give it to "
                        "`roce-gen respond`");
}

}  // namespace

void check_usage(const CLI::App& command, const PerfCommand& options) {
  if (options.sim == !options.endpoint.port.empty()) {
    throw CLI::ValidationError("perf", "say where: --sim, or --port and --peer");
  }
  const auto refuse = [&](const char* name, const char* with) {
    if (command.count(name) > 0) {
      throw CLI::ValidationError(name, fmt::format("goes with {} only", with));
    }
  };
  if (!options.study.empty() && options.options.pattern != "blast") {
    throw CLI::ValidationError("--study", "goes with --pattern blast");
  }
  if (!options.points.empty() && options.pcap.empty())
    throw CLI::ValidationError("--pcap-at", "goes with --pcap FILE");
  check_congestion(command, options);
  if (options.sim) {
    for (const char* name : {"--peer", "--peer-mac", "--address", "--mac", "--service", "--wait",
                             "--idle", "--verbose", "--transport"}) {
      refuse(name, "--port");
    }
    const bool endless = options.options.config.iterations == 0 || options.all_sizes;
    if (!options.pcap.empty() && endless) {
      throw CLI::ValidationError("--pcap", "goes with -n and one size: every frame is kept");
    }
    return;
  }
  check_transport(options.options, options.latency() || options.all_sizes);
  if (options.peer.ip.empty()) throw CLI::ValidationError("--peer", "who responds there?");
  for (const char* name :
       {"--path", "--delay", "--distance", "--duration", "--rate", "--nic-latency",
        "--receive-limit", "--loss", "--mark", "--seed", "--study", "--pcap-at"}) {
    refuse(name, "--sim");
  }
}

}  // namespace lw::gen
