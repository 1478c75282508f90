// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/perf_usage.h"

#include <utility>

#include <fmt/format.h>

#include "core/output_name.h"
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

/// What describes a simulated world. Over a port things are as they are, or somebody else makes
/// them so.
void refuse_simulated(const CLI::App& command) {
  constexpr const char* kPath = "put a roce-impair with such a profile between the two sides";
  constexpr std::pair<const char*, const char*> kElsewhere[] = {
      {"--path", kPath},
      {"--delay", kPath},
      {"--distance", kPath},
      {"--loss", kPath},
      {"--mark", kPath},
      {"--seed", kPath},
      {"--rate", "a port has the rate it has; --rate-control fixed with --qp-rate sends slower"},
      {"--nic-latency", "over a port it is the machine's, and part of what is measured"},
      {"--receive-limit", "over a port it is the machine's, and part of what is measured"},
      {"--study", "over a port give --buffers for one row of it"},
      {"--pcap-at", "over a port --pcap keeps what crosses it"}};
  for (const auto& [name, instead] : kElsewhere) {
    if (command.count(name) > 0)
      throw CLI::ValidationError(name, fmt::format("goes with --sim only; {}", instead));
  }
}

}  // namespace

void check_usage(const CLI::App& command, const PerfCommand& options) {
  if (options.sim == !options.endpoint.port.empty()) {
    throw CLI::ValidationError("perf", "say where: --sim, or --port and --peer");
  }
  if (!options.study.empty() && options.options.pattern != "blast") {
    throw CLI::ValidationError("--study", "goes with --pattern blast");
  }
  if (options.latency() && command.count("--duration") > 0)
    throw CLI::ValidationError("--duration", "goes with --pattern bw and blast: give -n");
  if (!options.points.empty() && options.pcap.empty())
    throw CLI::ValidationError("--pcap-at", "goes with --pcap FILE");
  if (const auto plain = check_plain_name(options.pcap); !plain)
    throw CLI::ValidationError("--pcap", plain.error().message);
  check_congestion(command, options);
  if (options.sim) {
    for (const char* name : {"--peer", "--peer-mac", "--address", "--mac", "--service", "--wait",
                             "--idle", "--verbose", "--transport"}) {
      if (command.count(name) > 0) throw CLI::ValidationError(name, "goes with --port only");
    }
    const bool endless = options.options.config.iterations == 0 || options.all_sizes;
    if (!options.pcap.empty() && endless) {
      throw CLI::ValidationError("--pcap", "goes with -n and one size: every frame is kept");
    }
    return;
  }
  check_transport(options.options, options.latency() || options.all_sizes);
  if (options.peer.ip.empty()) throw CLI::ValidationError("--peer", "who responds there?");
  refuse_simulated(command);
}

}  // namespace lw::gen
