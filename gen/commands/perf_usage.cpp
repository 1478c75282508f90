// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/output.h"
#include "gen/commands/perf_command.h"
#include "gen/perf/cm/rping.h"
#include "gen/perf/report/perf_files.h"
#include "gen/perf/report/perf_ranks.h"
#include "transport/payload_store.h"

namespace lw::gen {
namespace {

using app::Given;
using perf::PerfPattern;
using wire::Transport;

/// Options that are refused if `applies`.
struct Conflict {
  bool applies = false;
  std::vector<std::string> options;
  std::string why;
};
using Conflicts = std::vector<Conflict>;

Result<void> check_conflicts(const Given& given, const Conflicts& conflicts) {
  for (const Conflict& each : conflicts)
    for (const std::string& option : each.options)
      if (each.applies && given.has(option)) return refuse(option, each.why);
  return {};
}

/// Options of the simulated path and hosts, and what takes their place over a port.
Conflicts simulated_options() {
  const auto only = [](std::vector<std::string> options, std::string_view instead) {
    return Conflict{true, std::move(options), fmt::format("goes with --sim only; {}", instead)};
  };
  return {
      {true, {"--live"}, "goes with --sim"},
      only({"--network"}, "a network is simulated"),
      only({"--path", "--delay", "--distance", "--path-buffer", "--loss", "--mark", "--seed"},
           "put a roce-impair with such a profile between the two sides"),
      only({"--round-trips"}, "over a port give -n or --duration"),
      only({"--rate"}, "a port has a fixed rate; --rate-control fixed with --qp-rate sends slower"),
      only({"--nic-latency", "--receive-limit", "--nic-per-packet", "--nic-per-message",
            "--arbitration"},
           "over a port it is the machine's, and part of the measurement"),
      only({"--receives", "--repost", "--credits", "--rnr-timer"},
           "over a port the responder keeps a receive for each message"),
      only({"--responder-reads"}, "over a port both sides agree on --reads"),
      only({"--reorder-packets"}, "over a port both sides keep 65536"),
      only({"--study"}, "over a port give --buffers for one row of it"),
      only({"--pcap-at"}, "over a port --pcap captures what passes it")};
}

/// What goes with another option, or excludes it.
Conflicts conflicts_of(const Given& given, const PerfCommand& command) {
  const perf::PerfConfig& config = command.config();
  const bool judged = given.has("--expect") || given.has("--junit") || given.has("--html");
  const bool once = given.has("--pcap") || given.has("--study") || given.has("--live");
  return {{true, {"--start-skew"}, "goes with --pattern incast and all-to-all"},
          {command.options.pattern != PerfPattern::blast, {"--study"}, "goes with --pattern blast"},
          {judged,
           {"--study"},
           "goes without --expect, --junit and --html: its rows are no final figures"},
          {given.has("--study"), {"--live", "--interval"}, "goes without --study"},
          {given.has("--live"), {"--interval"}, "goes without --live"},
          {command.latency(), {"--forever"}, "goes with --pattern bw"},
          {command.sweep.empty(), {"--out", "--repeats"}, "goes with --sweep"},
          {is_of_study(command.options.pattern) || command.options.common() ||
               !command.network.network.empty() || !command.peer.cm.empty(),
           {"--sweep"},
           "goes with --pattern bw and lat"},
          {!command.sweep.empty(),
           {"--all", "--json", "--forever", "--pcap", "--series", "--study", "--live", "--expect",
            "--junit", "--data", "--interval"},
           "does not go with --sweep: its files have every run"},
          {once, {"--forever"}, "goes without --pcap, --study and --live"},
          {command.options.pattern == PerfPattern::ping,
           {"--duration"},
           "goes with --pattern bw, lat and blast: give -n"},
          {!given.has("--pcap"), {"--pcap-at"}, "goes with --pcap FILE"},
          {config.qp.rate_control == transport::RateControl::none,
           {"--qp-rate"},
           "goes with --rate-control fixed or dcqcn"}};
}

Conflicts conflicts_in_simulation(const PerfCommand& command) {
  const bool endless = command.config().iterations == 0 || command.all_sizes;
  return {{true,
           {"--peer", "--verify", "--token", "--data", "--cm", "--peer-mac", "--address", "--mac",
            "--encapsulation", "--service", "--wait", "--idle", "--verbose", "--transport"},
           "goes with --port only"},
          {endless && command.network.network.empty(),
           {"--pcap"},
           "goes with -n and one size: every frame is kept in memory"}};
}

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

/// Checks the options of congestion control over a port. Each side has only those of its own NIC.
Result<void> check_congestion(const Given& given, const PerfCommand& command) {
  const bool read = command.config().operation == wire::Operation::read_request;
  const std::string elsewhere = given.first_of(read ? kReactionPoint : kNotificationPoint);
  if (elsewhere.empty()) return {};
  return refuse(elsewhere,
                read ? "the responder sends the data of READs: give it to `roce-gen respond`"
                     : "the responder receives the data and sends the CNPs: give it to "
                       "`roce-gen respond`");
}

/// Checks names of points of a path.
Result<void> check_points(const std::vector<std::string>& points) {
  for (const std::string& point : points)
    if (std::ranges::find(kCapturePoints, point) == kCapturePoints.end())
      return refuse("--pcap-at", fmt::format("expected {}, found \"{}\"",
                                             fmt::join(kCapturePoints, ", "), point));
  return {};
}

/// Checks the number of requests that are posted at once. One takes 101 bytes.
Result<void> check_posted(const perf::PerfConfig& config) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 26;
  const std::uint64_t depth = config.qp.tx_depth;
  const std::uint64_t each =
      config.iterations == 0 ? depth : std::min<std::uint64_t>(depth, config.iterations);
  if (each * config.qps <= kMost) return {};
  return refuse("--tx-depth", fmt::format("{} QPs with {} requests each: expected up to {} "
                                          "requests at once, which take 7 GB of memory",
                                          config.qps, each, kMost));
}

Result<void> check_simulated(const Given& given, const PerfCommand& command) {
  if (const std::string own = given.first_of(kClassOptions); !own.empty())
    return refuse(own, "goes with --port only: packets of a simulation have no class");
  if (auto fits = check_conflicts(given, conflicts_in_simulation(command)); !fits) return fits;
  if (auto fits = check_posted(command.config()); !fits) return fits;
  return command.network.network.empty() ? check_points(command.points) : Result<void>{};
}

Result<void> check_rping(const Given& given, const PerfCommand& command) {
  if (auto fits = check_conflicts(given, conflicts_with_rping()); !fits) return fits;
  const std::uint32_t size = command.config().size;
  constexpr std::uint32_t kShortest = 17;  // rping's own limit: its text with a number
  if (size < kShortest || size > PingServer::kLongest)
    return refuse("--size", fmt::format("rping's messages have {} to {} B: as `rping -S`",
                                        kShortest, PingServer::kLongest));
  return check_conflicts(given, simulated_options());
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
  return check_conflicts(given, simulated_options());
}

/// Checks the options of a run of several ranks.
Result<void> check_common(const Given& given, const PerfCommand& command) {
  const std::string pattern = fmt::format("--pattern {}", name_of(command.options.pattern));
  if (command.endpoint.port.empty())
    return refuse("--port", fmt::format("expected a port: {} is measured in real time", pattern));
  const Conflicts conflicts = {
      {true,
       {"--peer", "--token", "--cm", "--data", "--peer-mac", "--bidirectional", "--forever",
        "--all", "--pcap", "--series", "--study", "--margin", "--interval"},
       "does not go with " + pattern},
      {command.config().qp.transport != Transport::rc, {"--transport"}, pattern + " goes with rc"}};
  if (auto fits = check_conflicts(given, conflicts); !fits) return fits;
  if (auto known = command.verdicts.check(kPerfRanksOutput); !known) return known;
  return check_conflicts(given, simulated_options());
}

}  // namespace

std::unexpected<Error> refuse(const std::string& option, const std::string& why) {
  return fail(option + ": " + why);
}

Result<void> check_usage(const Given& given, const PerfCommand& command) {
  if (command.sim == !command.endpoint.port.empty())
    return refuse("perf", "expected --sim, or --port and --peer");
  if (command.options.common()) return check_common(given, command);
  if (auto fits = check_conflicts(given, conflicts_of(given, command)); !fits) return fits;
  if (auto known = command.verdicts.check(command.judged_output()); !known) return known;
  if (auto fits = check_network_usage(given); !fits) return fits;
  if (const auto plain = check_file_name(command.pcap, true); !plain)
    return refuse("--pcap", plain.error().message);
  return command.sim ? check_simulated(given, command) : check_port(given, command);
}

}  // namespace lw::gen
