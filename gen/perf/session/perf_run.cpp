// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/perf_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "gen/perf/session/ground.h"
#include "gen/perf/session/perf_client.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

Result<OwnAddress> find_peer(const PeerOptions& peer, const wire::IpAddress& ip, FramePort& port,
                             Duration patience, const std::atomic<bool>& stop) {
  const auto mac =
      peer.mac.empty() ? port.resolve(ip, patience, stop) : read_mac("--peer-mac", peer.mac);
  if (!mac) return std::unexpected(mac.error());
  return OwnAddress{*mac, ip};
}

PerfOutcome outcome_of(ClientResult result, const EndpointOptions& options, const PeerOptions& peer,
                       const FramePortCounters& port) {
  PerfOutcome outcome{.bandwidth = std::move(result.bandwidth),
                      .latency = std::move(result.latency),
                      .wrong = result.wrong + result.peer.wrong,
                      .where = {}};
  outcome.where = {{"port", options.port},
                   {"peer", peer.ip},
                   {"transport", wire::name_of(result.transport)},
                   {"wrong", result.wrong},
                   {"bad_icrc", port.bad_icrc},
                   {"frames_not_sent", port.not_sent}};
  outcome.bandwidth.cnps += result.peer.cnps;
  if (!result.peer_answered) return outcome;
  outcome.where["responder"] = {{"checked", result.peer.checked},
                                {"wrong", result.peer.wrong},
                                {"duplicates", result.peer.duplicates},
                                {"out_of_sequence", result.peer.out_of_sequence},
                                {"cnps", result.peer.cnps}};
  if (result.transport == wire::Transport::rc) return outcome;
  const std::uint64_t sent = outcome.bandwidth.messages;
  outcome.where["responder"]["dropped"] = result.peer.dropped;
  outcome.lost_messages = sent - std::min(sent, result.peer.checked - result.peer.duplicates);
  return outcome;
}

/// A rate to begin with, where one is wanted and none was given: the link's.
Result<sim::PerfConfig> with_rate(sim::PerfConfig config, const Ground& ground,
                                  const std::string& port) {
  if (config.qp.rate_control == transport::RateControl::none || config.qp.rate_bps > 0) {
    return config;
  }
  const auto link = ground.link_bps();
  if (!link) {
    return fail(
        fmt::format("--rate-control: the port `{}` knows of no rate of its own to begin "
                    "with: give one, such as --qp-rate 1Gb/s",
                    port));
  }
  config.qp.rate_bps = *link;
  return config;
}

/// User's and system's, of this process.
Duration cpu_time() noexcept {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration{time.tv_nsec};
}

}  // namespace

Result<void> run_in_real_time(const EndpointOptions& options, const PeerOptions& peer, bool latency,
                              PerfSeries& series, const std::atomic<bool>& stop,
                              const std::function<Result<void>(const PerfMeasure&)>& run) {
  const auto ip = read_ip("--peer", peer.ip);
  if (!ip) return std::unexpected(ip.error());
  const auto own = address_of(options, 1, *ip);
  if (!own) return std::unexpected(own.error());
  auto ground = Ground::open(options, *own);
  if (!ground) return std::unexpected(ground.error());
  FramePort& port = (*ground)->port();
  if (auto up = (*ground)->wait_link(options.wait, stop); !up) return up;
  const auto found = find_peer(peer, *ip, port, options.wait, stop);
  if (!found) return std::unexpected(found.error());
  PerfClient client((*ground)->endpoint(),
                    {.peer = *found, .port = options.service, .patience = options.wait}, stop,
                    series);
  const auto measure = [&](const sim::PerfConfig& asked) -> Result<PerfOutcome> {
    const auto config = with_rate(asked, **ground, options.port);
    if (!config) return std::unexpected(config.error());
    const Duration worked = cpu_time();
    const Instant began = nic::now();
    auto result = latency ? client.latency(*config) : client.bandwidth(*config);
    if (!result) return std::unexpected(result.error());
    const Duration took = nic::now() - began;
    PerfOutcome outcome = outcome_of(std::move(*result), options, peer, port.counters());
    outcome.cpu_share =
        static_cast<double>((cpu_time() - worked).count()) / static_cast<double>(took.count());
    return outcome;
  };
  if (auto ran = run(measure); !ran) return ran;
  return (*ground)->close();
}

}  // namespace lw::gen
