// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/names.h"
#include "gen/commands/perf_command.h"
#include "gen/perf/cm/rping.h"
#include "gen/perf/report/perf_ranks.h"
#include "transport/payload_store.h"

namespace lw::gen {
namespace {

using app::Given;
using wire::Transport;

/// The peer with --cm runs rping, which determines the operations.
Conflicts conflicts_with_rping() {
  return {{true,
           {"--op", "--pattern", "--transport", "--qps", "--imm", "--duration", "--series", "--all",
            "--service", "--selective-repeat", "--peer", "--verify"},
           "does not go with --cm, whose peer is `rping -s`"}};
}

/// Over a port, to a responder or to a device, which roce-endpoint hands over. With --data messages
/// carry the bytes of a file, on one QP, each message once.
Conflicts conflicts_over_port(const PerfCommand& command) {
  const perf::PerfConfig& config = command.config();
  const bool device = command.peer.device(), rc = config.qp.transport == Transport::rc;
  const bool dcqcn = config.qp.rate_control == transport::RateControl::dcqcn;
  return {
      {device, {"--bidirectional"}, "goes with --peer IP: roce-endpoint only answers"},
      {device,
       {"--packet-payload"},
       "goes with --peer IP: a device refuses FIRST and MIDDLE packets of another size than the "
       "path MTU"},
      {config.qp.mtu > transport::PayloadStore::kLargest,
       {"--selective-repeat"},
       "goes with packets of up to 4096 B, which the responder keeps behind a gap"},
      {!rc, {"--bidirectional"}, "goes with --transport rc"},
      {!rc, {"--selective-repeat"}, "goes with --transport rc: others do not retransmit"},
      {!device, {"--data", "--token"}, "goes with --peer HOST:PORT of `roce-endpoint serve`"},
      {config.fetches(), {"--data"}, "goes with --op write and send"},
      {!command.data.empty(),
       {"--qps", "--iterations", "--duration", "--all", "--pattern"},
       "does not go with --data: each byte is sent once"},
      {device,
       {"--selective-repeat", "--service", "--verify"},
       "goes with --peer IP, not with a device"},
      {device && dcqcn,
       {"--rate-control"},
       "the device's own CNPs and rates apply there: fixed only"},
      {command.endpoint.rocev1 && dcqcn,
       {"--rate-control"},
       "dcqcn goes with --encapsulation rocev2: RoCEv1 has no marks and no CNPs"}};
}

/// Checks the options of congestion control. Each side has only those of its own NIC.
Result<void> check_congestion(const Given& given, const PerfCommand& command) {
  const bool read = command.config().operation == wire::Operation::read_request;
  const FigureTable& elsewhere = read ? transport::DcqcnConfig::reaction_point()
                                      : transport::DcqcnConfig::notification_point();
  const std::string why = read ? "the responder sends the data of READs: give it to "
                                 "`roce-gen respond`"
                               : "the responder receives the data and sends the CNPs: give it to "
                                 "`roce-gen respond`";
  if (read && given.has("--cc")) return refuse("--cc", why);
  for (const std::string_view key : command.options.parameters)
    if (std::ranges::find(elsewhere.rows, key, &Figure::name) != elsewhere.rows.end())
      return refuse(fmt::format("--set cc.{}", key), why);
  return {};
}

Result<void> check_rping(const Given& given, const PerfCommand& command) {
  if (auto fits = check_conflicts(given, conflicts_with_rping()); !fits) return fits;
  const std::uint32_t size = command.config().size;
  constexpr std::uint32_t kShortest = 17;  // rping's own limit: its text with a number
  if (size < kShortest || size > PingServer::kLongest)
    return refuse("--size", fmt::format("rping's messages have {} to {} B: as `rping -S`",
                                        kShortest, PingServer::kLongest));
  return {};
}

Result<void> check_port(const Given& given, const PerfCommand& command) {
  if (auto fits = check_congestion(given, command); !fits) return fits;
  if (!command.peer.cm.empty()) return check_rping(given, command);
  const bool answered = command.latency() || command.all_sizes;
  if (auto fits = check_transport(command.config(), answered); !fits) return fits;
  if (command.peer.ip.empty()) return refuse("--peer", "expected the responder's address");
  if (auto fits = check_conflicts(given, conflicts_over_port(command)); !fits) return fits;
  if (command.peer.device() && command.peer.token.empty())
    return refuse("--token", "expected the token that `roce-endpoint serve` prints");
  if (command.peer.device() && command.endpoint.address.empty())
    return refuse("--address", "expected this port's address in the network of the device");
  return {};
}

/// Checks the options of a run of several ranks.
Result<void> check_common(const Given& given, const PerfCommand& command) {
  const std::string pattern = fmt::format("--pattern {}", name_of(command.options.pattern));
  if (command.endpoint.port.empty())
    return refuse("--port", fmt::format("expected a port: {} is measured in real time", pattern));
  const Conflicts conflicts = {
      {true,
       {"--peer", "--token", "--cm", "--data", "--peer-mac", "--bidirectional", "--forever",
        "--all", "--pcap", "--series", "--margin", "--interval"},
       "does not go with " + pattern},
      {command.config().qp.transport != Transport::rc, {"--transport"}, pattern + " goes with rc"}};
  if (auto fits = check_conflicts(given, conflicts); !fits) return fits;
  return command.verdicts.check(kPerfRanksOutput);
}

}  // namespace

Result<void> check_usage(const Given& given, const PerfCommand& command) {
  if (command.options.common()) return check_common(given, command);
  if (command.endpoint.port.empty())
    return refuse("--port", "expected a port; without one, `roce-gen sim` simulates the run");
  if (given.has("--start-skew"))
    return refuse("--start-skew", "goes with --pattern incast, all-to-all and ring");
  if (auto fits = check_conflicts(given, shared_conflicts(given, command)); !fits) return fits;
  if (auto known = command.verdicts.check(output_of(command.pattern())); !known) return known;
  if (const auto plain = check_file_name(command.pcap, true); !plain)
    return refuse("--pcap", plain.error().message);
  return check_port(given, command);
}

}  // namespace lw::gen
