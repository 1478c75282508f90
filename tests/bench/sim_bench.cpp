// SPDX-License-Identifier: BSD-3-Clause
// Simulated data packets a second of one core: 4 KiB RC WRITEs at 100 Gb/s over 380 km, each with
// an ACK of its own, beside a bare event loop that moves the same packets without a transport.
#include <benchmark/benchmark.h>

#include "sim/incast.h"

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
  rule.queue = emulator::BottleneckConfig{.rate_bps = 100e9, .buffer_bytes = 64'000'000};
  rule.delay = kOneWay;
  rules->rules = {rule};
  config.perf.path.rules = rules;
  std::uint64_t packets = 0;
  for (auto _ : state) packets += run_incast(config).packets;
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
}

BENCHMARK(bare_events_over_380_km)->Unit(benchmark::kMillisecond);
BENCHMARK(transport_over_380_km)->Arg(4096)->Arg(65536)->Unit(benchmark::kMillisecond);
BENCHMARK(qps_over_380_km)->Arg(1)->Arg(100)->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK(incast_of_1000_qps)->Arg(10)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lw::sim

BENCHMARK_MAIN();
