// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/perf_usage.h"

#include <utility>

#include <fmt/format.h>

#include "core/names.h"
#include "gen/perf/options/qp_options.h"

namespace lw::gen {
namespace {

using app::Given;

std::unexpected<Error> refuse(const std::string& option, const std::string& why) {
  return fail(option + ": " + why);
}

/// Congestion control: each side has the options of its own NIC.
Result<void> check_congestion(const Given& given, const PerfCommand& options) {
  if (given.has("--qp-rate") &&
      options.options.config.qp.rate_control == transport::RateControl::none)
    return refuse("--qp-rate", "goes with --rate-control fixed or dcqcn");
  if (options.sim) return {};
  const bool read = options.options.operation == "read";
  const std::string elsewhere = given.first_of(read ? kReactionPoint : kNotificationPoint);
  if (elsewhere.empty()) return {};
  return refuse(elsewhere,
                read ? "the responder sends the data of READs: give it to `roce-gen respond`"
                     : "the responder receives the data and sends the CNPs: give it to "
                       "`roce-gen respond`");
}

/// Options of the simulated path and hosts.
Result<void> refuse_simulated(const Given& given) {
  constexpr const char* kPath = "put a roce-impair with such a profile between the two sides";
  constexpr const char* kMachine = "over a port it is the machine's, and part of the measurement";
  constexpr std::pair<const char*, const char*> kInstead[] = {
      {"--path", kPath},
      {"--delay", kPath},
      {"--distance", kPath},
      {"--loss", kPath},
      {"--mark", kPath},
      {"--seed", kPath},
      {"--rate", "a port has a fixed rate; --rate-control fixed with --qp-rate sends slower"},
      {"--nic-latency", kMachine},
      {"--receive-limit", kMachine},
      {"--study", "over a port give --buffers for one row of it"},
      {"--pcap-at", "over a port --pcap captures what passes it"}};
  for (const auto& [name, instead] : kInstead)
    if (given.has(name)) return refuse(name, fmt::format("goes with --sim only; {}", instead));
  return {};
}

/// UC and UD lack some operations and recovery. `answered`: each message needs an answer.
Result<void> check_transport(const PerfOptions& options, bool answered) {
  const wire::Transport transport = options.config.qp.transport;
  if (transport == wire::Transport::rc) return {};
  const bool ud = transport == wire::Transport::ud;
  const auto refused = [ud](const std::string& why) {
    return refuse("--transport", (ud ? "ud: " : "uc: ") + why);
  };
  if (answered) return refused("lost messages are not detected: --pattern bw or blast, one size");
  if (options.operation == "read" || options.operation == "atomic")
    return refused("has no responses: --op send" + std::string(ud ? "" : " or write"));
  if (ud && options.operation == "write") return refused("carries SENDs only: --op send");
  if (options.selective) return refused("does not retransmit: leave --selective-repeat out");
  if (options.config.size < sizeof(std::uint64_t))
    return refused("each message carries its number: -s 8 at least");
  if (ud && options.config.size > options.config.qp.mtu)
    return refused(
        fmt::format("a message is one packet: -s up to the MTU, {}", options.config.qp.mtu));
  return {};
}

Result<void> check_simulated(const Given& given, const PerfCommand& options) {
  for (const char* name : {"--peer", "--peer-mac", "--address", "--mac", "--service", "--wait",
                           "--idle", "--verbose", "--transport"})
    if (given.has(name)) return refuse(name, "goes with --port only");
  const bool endless = options.options.config.iterations == 0 || options.all_sizes;
  if (!options.pcap.empty() && endless)
    return refuse("--pcap", "goes with -n and one size: every frame is kept in memory");
  return {};
}

Result<void> check_port(const Given& given, const PerfCommand& options) {
  const bool answered = options.latency() || options.all_sizes;
  if (auto fits = check_transport(options.options, answered); !fits) return fits;
  if (options.peer.ip.empty()) return refuse("--peer", "expected the responder's address");
  return refuse_simulated(given);
}

}  // namespace

Result<void> check_usage(const Given& given, const PerfCommand& options) {
  if (options.sim == !options.endpoint.port.empty())
    return refuse("perf", "expected --sim, or --port and --peer");
  if (!options.study.empty() && options.options.pattern != "blast")
    return refuse("--study", "goes with --pattern blast");
  if (options.latency() && given.has("--duration"))
    return refuse("--duration", "goes with --pattern bw and blast: give -n");
  if (!options.points.empty() && options.pcap.empty())
    return refuse("--pcap-at", "goes with --pcap FILE");
  if (const auto plain = check_plain_name(options.pcap); !plain)
    return refuse("--pcap", plain.error().message);
  if (auto fits = check_congestion(given, options); !fits) return fits;
  return options.sim ? check_simulated(given, options) : check_port(given, options);
}

}  // namespace lw::gen
