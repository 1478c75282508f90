// SPDX-License-Identifier: BSD-3-Clause
// Simulated data packets a second of one core, beside bare event loops that move the same packets
// without a transport: 4 KiB RC WRITEs at 100 Gb/s over 380 km, each with an ACK of its own; and
// four senders that share 100 km.
#include <benchmark/benchmark.h>

#include "sim/incast.h"
#include "sim/network/network_run.h"

namespace lw::sim {
namespace {

constexpr Duration kOneWay{1'903'500};  // 380 km of fibre and its equipment

perf::PerfConfig long_path(std::uint32_t size) {
  perf::PerfConfig config;
  config.size = size;
  config.qp.tx_depth = config.qp.max_outstanding_wqe = 16384;
  config.path.one_way = kOneWay;
  config.iterations = 1'000'000 / std::max(1u, size / 4096);
  return config;
}

/// Argument: bytes of a message. 4096: a packet and an ACK each.
void transport_over_380_km(benchmark::State& state) {
  const perf::PerfConfig config = long_path(static_cast<std::uint32_t>(state.range(0)));
  std::uint64_t packets = 0;
  for (auto _ : state) packets += run_bandwidth(config).packets;
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
}

/// Argument: QPs, of which each sends its share of the same packets of 4 KiB, in turn.
void qps_over_380_km(benchmark::State& state) {
  const auto qps = static_cast<std::uint32_t>(state.range(0));
  perf::PerfConfig config = long_path(4096);
  config.qps = qps;
  config.iterations /= qps;
  config.qp.tx_depth = config.qp.max_outstanding_wqe =
      std::max(1u, config.qp.max_outstanding_wqe / qps);
  std::uint64_t packets = 0;
  for (auto _ : state) packets += run_bandwidth(config).packets;
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
}

/// Packets enter a link and leave it, an ACK comes back for each: no QP, no NIC.
void bare_events_over_380_km(benchmark::State& state) {
  constexpr std::int64_t kPacketPs = 335'520;
  transport::PayloadStore store;
  SimLink there({.delay = kOneWay, .rules = {}}, store);
  SimLink back({.delay = kOneWay, .rules = {}}, store);
  transport::EventQueue events;
  const std::uint32_t sender = events.add(), arrival = events.add(), answer = events.add();
  transport::Packet packet;
  std::int64_t sent_ps = 0, packets = 0;
  events.set(sender, Instant{});
  for (auto _ : state) {
    for (std::int64_t goal = packets + 1'000'000; packets < goal;) {
      const std::uint32_t source = events.next_source();
      const std::int64_t now_ps = to_ns(events.next_at()) * 1000;
      if (source == sender) {
        there.enter(packet, sent_ps += kPacketPs);
        events.set(sender, instant_from_ns(sent_ps / 1000));
      } else if (source == arrival) {
        back.enter(there.front(), now_ps);
        there.pop();
      } else {
        back.pop();
        ++packets;
      }
      events.set(arrival, there.next_at());
      events.set(answer, back.next_at());
    }
  }
  state.SetItemsProcessed(packets);
}

/// 1,000 QPs on a number of hosts, the argument, send to one through a queue that RED marks, under
/// DCQCN: lib/emulator decides on each packet.
void incast_of_1000_qps(benchmark::State& state) {
  const auto hosts = static_cast<std::uint32_t>(state.range(0));
  IncastConfig config{.senders = hosts, .perf = long_path(16384)};
  config.perf.iterations = 0;
  config.perf.qps = 1000 / hosts;
  config.perf.qp.tx_depth = 4;
  config.perf.qp.rate_control = transport::RateControl::dcqcn;
  config.perf.duration = std::chrono::milliseconds(200);
  auto rules = std::make_shared<perf::PathRules>();
  emulator::RuleConfig rule;
  rule.name = "both";
  rule.mark = emulator::MarkConfig{.red = emulator::Red{400'000, 1'600'000, 0.01}};
  rule.queue = emulator::QueueConfig{.rate_bps = 100e9, .buffer_bytes = 64'000'000};
  rule.delay = kOneWay;
  rules->rules = {rule};
  config.perf.path.rules = rules;
  std::uint64_t packets = 0;
  for (auto _ : state) packets += run_incast(config).packets;
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
}

/// Four senders with 16 QPs each, two switches, a receiver behind 100 km of 100 Gb/s; DCQCN, as
/// in the experiment long-haul-incast: after a second of drops, the link is full.
void network_of_64_qps(benchmark::State& state) {
  constexpr std::uint64_t kRoundTrip = 14'137'500;  // bytes of 1131 us
  NetworkRunConfig config{.topology = {}, .workload = {}, .perf = {}};
  Topology& t = config.topology;
  t.hosts = {"a", "b", "c", "d", "receiver"};
  t.switches = {{.name = "west", .buffer_bytes = kRoundTrip * 5 / 2}, {.name = "east"}};
  t.switches[0].marking = emulator::Red{.kmin_bytes = kRoundTrip * 3 / 4,
                                        .kmax_bytes = kRoundTrip * 3 / 2,
                                        .share = 0.01,
                                        .step = true,
                                        .on_leaving = true};
  constexpr Node kWest = 5, kEast = 6;
  for (Node host = 0; host < 4; ++host)
    t.cables.push_back({.a = host, .b = kWest, .delay = Duration{100}});
  t.cables.push_back({.a = kWest, .b = kEast, .delay = Duration{564'300}});
  t.cables.push_back({.a = kEast, .b = 4, .delay = Duration{100}});
  config.workload.sendings.front().receivers = {Node{4}};
  config.workload.sendings.front().qps = 16;
  config.perf.qp.tx_depth = config.perf.qp.max_outstanding_wqe = 64;
  config.perf.qp.rate_control = transport::RateControl::dcqcn;
  transport::DcqcnConfig& dcqcn = config.perf.qp.dcqcn;
  dcqcn.rpg_byte_reset = 0;
  dcqcn.rpg_min_dec_fac_percent = 95;
  dcqcn.clamp_tgt_rate = true;
  dcqcn.rpg_time_reset_us = 5000;
  dcqcn.dce_tcp_rtt_us = 5;
  config.perf.qp.timeout = 14;
  config.perf.duration = std::chrono::seconds(3);
  std::uint64_t packets = 0;
  for (auto _ : state) packets += run_network(config).packets;
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
}

/// Two equal sites of 64 hosts at a switch, 300 km apart. In each, every host sends to another of
/// its site and to one of the other site, on so many threads.
void two_sites_of_64_hosts(benchmark::State& state) {
  NetworkRunConfig config{.topology = {}, .workload = {}, .perf = {}};
  constexpr Node kHosts = 64;
  Topology& t = config.topology;
  t.switches = {{.name = "west", .buffer_bytes = 64'000'000},
                {.name = "east", .buffer_bytes = 64'000'000}};
  for (Node host = 0; host < 2 * kHosts; ++host) {
    t.hosts.push_back(std::to_string(host));
    t.cables.push_back({.a = host,
                        .b = static_cast<Node>(2 * kHosts + host / kHosts),
                        .delay = std::chrono::microseconds(1)});
  }
  t.cables.push_back({.a = 2 * kHosts,
                      .b = 2 * kHosts + 1,
                      .rate_bps = 6.4e12,
                      .delay = std::chrono::microseconds(1469)});
  config.workload.sendings.clear();
  for (Node host = 0; host < 2 * kHosts; ++host) {
    const Node site = host / kHosts * kHosts;
    const auto next = static_cast<Node>(site + (host + 1) % kHosts);
    const auto far = static_cast<Node>((host + kHosts) % (2 * kHosts));
    config.workload.sendings.push_back({.senders = {host}, .receivers = {next, far}});
  }
  config.perf.qp.tx_depth = config.perf.qp.max_outstanding_wqe = 64;
  config.perf.duration = std::chrono::milliseconds(8);
  config.threads = static_cast<std::uint32_t>(state.range(0));
  std::uint64_t packets = 0;
  for (auto _ : state) packets += run_network(config).packets;
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
}

/// Packets pass three links with the times of that network: a sender, and an event for each link.
void bare_events_of_three_hops(benchmark::State& state) {
  constexpr std::int64_t kPacketPs = 335'520;
  transport::PayloadStore store;
  std::vector<std::unique_ptr<SimLink>> links;
  transport::EventQueue events;
  const std::uint32_t sender = events.add();
  for (const Duration delay : {Duration{600}, Duration{564'300}, Duration{600}}) {
    links.push_back(std::make_unique<SimLink>(SimLinkConfig{.delay = delay, .rules = {}}, store));
    events.add();
  }
  transport::Packet packet;
  std::int64_t sent_ps = 0, packets = 0;
  events.set(sender, Instant{});
  for (auto _ : state) {
    for (std::int64_t goal = packets + 1'000'000; packets < goal;) {
      const std::uint32_t source = events.next_source();
      const std::int64_t now_ps = to_ns(events.next_at()) * 1000;
      if (source == sender) {
        links[0]->enter(packet, sent_ps += kPacketPs);
        events.set(sender, instant_from_ns(sent_ps / 1000));
      } else {
        SimLink& link = *links[source - 1];
        if (source < links.size()) {
          links[source]->enter(link.front(), now_ps + kPacketPs);
        } else {
          ++packets;
        }
        link.pop();
        events.set(source, link.next_at());
      }
      if (source < links.size()) events.set(source + 1, links[source]->next_at());
    }
  }
  state.SetItemsProcessed(packets);
}

BENCHMARK(bare_events_over_380_km)->Unit(benchmark::kMillisecond);
BENCHMARK(transport_over_380_km)->Arg(4096)->Arg(65536)->Unit(benchmark::kMillisecond);
BENCHMARK(qps_over_380_km)->Arg(1)->Arg(100)->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK(bare_events_of_three_hops)->Unit(benchmark::kMillisecond);
BENCHMARK(network_of_64_qps)->Unit(benchmark::kMillisecond);
BENCHMARK(two_sites_of_64_hosts)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(incast_of_1000_qps)->Arg(10)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lw::sim

BENCHMARK_MAIN();
