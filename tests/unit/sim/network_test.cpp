// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "sim/network/network_run.h"

namespace lw::sim {
namespace {

using std::chrono::microseconds, std::chrono::milliseconds, std::chrono::nanoseconds;

constexpr double kGbps = 1e9;

/// `senders` hosts and, as the last one, a receiver, at one switch.
Topology star(std::uint16_t senders, const SwitchConfig& config, double rate_bps = 100 * kGbps,
              Duration delay = microseconds(1)) {
  Topology t;
  for (Node host = 0; host <= senders; ++host) t.hosts.push_back("h" + std::to_string(host));
  t.switches.push_back(config);
  t.switches.back().name = "s";
  const auto middle = static_cast<Node>(senders + 1);
  for (Node host = 0; host <= senders; ++host)
    t.cables.push_back({.a = host, .b = middle, .rate_bps = rate_bps, .delay = delay});
  return t;
}

NetworkRunConfig incast(const Topology& topology, Duration duration) {
  NetworkRunConfig config{.topology = topology, .workload = {}, .perf = {}};
  config.workload.sendings.front().receivers = {static_cast<Node>(topology.hosts.size() - 1)};
  config.perf.duration = duration;
  config.warm_up = duration / 2;
  return config;
}

PortResult port_to(const NetworkResult& result, Node node, Node to) {
  for (const PortResult& port : result.ports)
    if (port.node == node && port.to == to) return port;
  ADD_FAILURE() << "no such port";
  return {};
}

TEST(Network, one_message_takes_the_time_of_its_packets_and_cables) {
  NetworkRunConfig config = incast(star(1, {}), milliseconds(1));
  config.workload.sendings.front().messages = 1;
  config.workload.sendings.front().start_within = {};
  config.perf.size = 8192;  // two packets
  config.warm_up = {};
  const NetworkResult result = run_network(config);
  ASSERT_EQ(result.flows.size(), 1u);
  ASSERT_TRUE(result.flows[0].finished);
  // By hand, 100 Gb/s: a first packet has 4194 B on the link (RETH included), a last 4178, an
  // ACK 84. The second follows the first; both go over two links, the ACK back over two. Each link
  // is 1 us, each NIC 0.5 us, in both directions.
  constexpr double kNs = 8.0 / 100;
  const double expected = (4194 + 4178) * kNs + 4178 * kNs + 2 * 84 * kNs + 4 * 1000 + 4 * 500;
  EXPECT_NEAR(static_cast<double>((result.flows[0].ended - result.flows[0].started).count()),
              expected, 4);
}

TEST(Network, a_shallow_buffer_drops_and_pfc_does_not) {
  SwitchConfig shallow{.name = "s", .buffer_bytes = 600'000};
  NetworkRunConfig config = incast(star(8, shallow), milliseconds(4));
  config.topology.clock_ppm = 100;
  config.workload.sendings.front().start_within = {};
  config.perf.size = 1 << 20;
  const NetworkResult lossy = run_network(config);
  EXPECT_GT(lossy.dropped(), 0u);
  EXPECT_GT(lossy.retransmitted, 0u);
  EXPECT_EQ(lossy.hosts_paused, Duration{});

  config.topology.switches[0].pause = true;
  config.topology.switches[0].alpha = 1;
  const NetworkResult lossless = run_network(config);
  EXPECT_EQ(lossless.dropped(), 0u);
  EXPECT_EQ(lossless.retransmitted, 0u);
  EXPECT_EQ(lossless.timeouts, 0u);
  // Eight senders share one link: each is paused for seven eighths of the time.
  const double paused = std::chrono::duration<double>(lossless.hosts_paused).count();
  EXPECT_NEAR(paused / (8 * 4e-3), 7.0 / 8, 0.08);
  EXPECT_GT(port_to(lossless, 9, 8).utilization, 0.98);
}

TEST(Network, headroom_covers_what_a_long_cable_holds) {
  // 380 km: 1861 us and 100 Gb/s are 23.26 MB, both ways.
  const CableConfig cable{.a = 0, .b = 1, .rate_bps = 100 * kGbps, .delay = microseconds(1861)};
  EXPECT_NEAR(static_cast<double>(headroom_of(cable, {}, {}, 4096).total()), 2 * 23.2625e6, 20e3);

  // The second switch pauses the first over the cable; only the headroom keeps it without loss.
  Topology t;
  t.hosts = {"a", "b"};
  t.switches = {{.name = "west"}, {.name = "east"}};
  t.cables = {{.a = 0, .b = 2, .rate_bps = 100 * kGbps, .delay = microseconds(1)},
              cable,
              {.a = 3, .b = 1, .rate_bps = 25 * kGbps, .delay = microseconds(1)}};
  t.cables[1].a = 2;
  t.cables[1].b = 3;
  for (SwitchConfig& each : t.switches) {
    each.pause = true;
    each.alpha = std::numeric_limits<double>::infinity();
    each.buffer_bytes = 60'000'000;
  }
  NetworkRunConfig config = incast(t, milliseconds(60));
  config.workload.sendings.front().senders = {0};
  config.perf.size = 1 << 20;
  config.perf.qp.tx_depth = config.perf.qp.max_outstanding_wqe = 512;
  const NetworkResult result = run_network(config);
  EXPECT_EQ(result.dropped(), 0u);
  EXPECT_GT(port_to(result, 2, 3).all.paused, Duration{});
  EXPECT_NEAR(result.total_bps / kGbps, 25 * 4096.0 / 4178, 0.3);
}

/// Each input has a threshold of its own by default, so none takes the buffer of others.
TEST(Network, an_incast_with_pfc_is_fair_by_default) {
  SwitchConfig lossless{.name = "s", .buffer_bytes = 4'000'000, .pause = true};
  NetworkRunConfig config =
      incast(star(4, lossless, 100 * kGbps, nanoseconds(100)), milliseconds(20));
  config.topology.clock_ppm = 100;
  config.perf.qp.tx_depth = 64;
  const NetworkResult result = run_network(config);
  for (const double bps : result.flow_bps) EXPECT_NEAR(bps / kGbps, 98.04 / 4, 98.04 / 4 * 0.02);
  EXPECT_EQ(result.dropped(), 0u);
}

/// A switch of 4 km of 100 Gb/s: nothing is dropped with the headroom of the standard's terms, and
/// something is with 0.9 of the bytes that come in after the threshold.
TEST(Network, headroom_is_enough_and_not_much_more) {
  SwitchConfig config{.name = "s", .buffer_bytes = 8'000'000, .alpha = 0.1, .pause = true};
  const Topology t = star(2, config, 100 * kGbps, microseconds(20));
  NetworkRunConfig run = incast(t, milliseconds(5));
  run.perf.size = 1 << 20;
  run.perf.qp.tx_depth = 512;
  const auto ports = ports_of(t);
  const Headroom terms = headroom_of(t, Node{3}, ports[3][0], run.perf.nic.latency, 4096);
  // 40 us, and 394 quanta of 512 bits (IEEE 802.3, 31B.3.7).
  EXPECT_EQ(terms.cable, 500'000u);
  EXPECT_NEAR(static_cast<double>(terms.response), 394 * 64, 13);
  const NetworkResult with = run_network(run);
  EXPECT_EQ(with.dropped(), 0u);
  EXPECT_GT(with.hosts_paused, Duration{});
  run.topology.switches[0].headroom_bytes = terms.total() * 9 / 10;
  EXPECT_GT(run_network(run).dropped(), 0u);
}

/// The terms of the standard for SONiC's profiles, whose bytes are more by what the manual has as
/// the remainder.
TEST(Network, published_headrooms_are_the_terms_and_a_remainder) {
  struct Profile {
    double gbps;
    std::int64_t delay_ns;  // of the fibre, one way
    std::uint64_t cable, response, published, remainder;
  };
  for (const Profile& each : {Profile{100, 4897, 122'425, 25'225, 401'408, 245'226},
                              Profile{100, 19'590, 489'750, 25'225, 708'608, 185'101},
                              Profile{400, 2449, 244'900, 57'950, 1'887'900, 1'576'518},
                              Profile{400, 4897, 489'700, 57'950, 1'495'040, 938'858},
                              Profile{400, 19'590, 1'959'000, 57'950, 2'727'936, 702'454}}) {
    const CableConfig cable{.rate_bps = each.gbps * kGbps, .delay = nanoseconds(each.delay_ns)};
    const Headroom terms = headroom_of(cable, pause_response(cable.rate_bps), {}, 4096);
    const auto near = [](std::uint64_t found, std::uint64_t wanted) {
      EXPECT_NEAR(static_cast<double>(found), static_cast<double>(wanted), 60);  // of 1 ns each
    };
    near(terms.cable, each.cable);
    near(terms.response, each.response);
    near(each.published - terms.total(), each.remainder);
  }
}

/// Switches in a ring, each with a host that sends to the one two switches further on.
NetworkRunConfig ring(std::uint16_t switches, std::uint64_t seed) {
  NetworkRunConfig config{.topology = {}, .workload = {}, .perf = {}};
  Topology& t = config.topology;
  config.workload.sendings.clear();
  for (Node i = 0; i < switches; ++i) {
    t.hosts.push_back("h" + std::to_string(i));
    t.switches.push_back(
        {.name = "s" + std::to_string(i), .buffer_bytes = 2'000'000, .pause = true});
  }
  t.clock_ppm = 100;
  for (Node i = 0; i < switches; ++i) {
    const auto node = static_cast<Node>(switches + i);
    const auto next = static_cast<Node>(switches + (i + 1) % switches);
    t.cables.push_back({.a = i, .b = node, .delay = nanoseconds(100)});
    t.cables.push_back({.a = node, .b = next, .delay = nanoseconds(500)});
    config.workload.sendings.push_back({.pattern = SendPattern::all_to_all,
                                        .senders = {i},
                                        .receivers = {static_cast<Node>((i + 2) % switches)}});
  }
  config.perf.duration = milliseconds(20);
  config.warm_up = milliseconds(10);
  config.perf.path.seed = seed;
  return config;
}

TEST(Network, a_pfc_deadlock_is_named_port_by_port) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const NetworkResult result = run_network(ring(5, seed));
    ASSERT_EQ(result.deadlocks.size(), 1u) << "seed " << seed;
    std::set<std::pair<Node, Node>> cycle;
    for (const std::uint32_t port : result.deadlocks[0].ports)
      cycle.emplace(result.ports[port].node, result.ports[port].to);
    EXPECT_EQ(cycle, (std::set<std::pair<Node, Node>>{{5, 6}, {6, 7}, {7, 8}, {8, 9}, {9, 5}}));
    EXPECT_LT(result.deadlocks[0].since, Instant{} + milliseconds(19));
    EXPECT_EQ(result.total_bps, 0);
  }
}

/// QPs fail without an answer, and the run ends when none is left: a deadlock is named before.
TEST(Network, a_deadlock_is_looked_for_during_the_run) {
  NetworkRunConfig config = ring(5, 1);
  config.perf.qp.timeout = 10;  // 4.2 ms
  config.perf.qp.retry_count = 0;
  config.perf.duration = milliseconds(60);
  const NetworkResult result = run_network(config);
  EXPECT_GT(result.failed, 0u);
  ASSERT_EQ(result.deadlocks.size(), 1u);
  EXPECT_EQ(result.deadlocks[0].ports.size(), 5u);
  EXPECT_LT(result.deadlocks[0].since, Instant{} + milliseconds(10));
}

/// A number from a range that depends on a network's seed.
class NetworkDraw {
 public:
  NetworkDraw(std::uint64_t seed, std::string_view name) : chance_(seed, hash_name(name)) {}
  std::uint64_t operator()(std::uint64_t number, std::uint64_t least, std::uint64_t most) const {
    return least + static_cast<std::uint64_t>(chance_.uniform(number) *
                                              static_cast<double>(most - least + 1));
  }

 private:
  Chance chance_;
};

/// Hosts at a random tree of switches with PFC, and `more` cables between these.
NetworkRunConfig random_network(std::uint64_t seed, std::string_view name, std::uint64_t more) {
  const NetworkDraw draw(seed, name);
  NetworkRunConfig config{.topology = {}, .workload = {}, .perf = {}};
  Topology& t = config.topology;
  const auto switches = static_cast<Node>(draw(0, more > 0 ? 3 : 1, 5));
  const auto hosts = static_cast<Node>(draw(1, 3, 10));
  for (Node host = 0; host < hosts; ++host) {
    t.hosts.push_back("h" + std::to_string(host));
    const auto at = static_cast<Node>(hosts + draw(10 + host, 0, switches - 1));
    t.cables.push_back({.a = host,
                        .b = at,
                        .rate_bps = static_cast<double>(draw(30 + host, 1, 4)) * 25 * kGbps,
                        .delay = nanoseconds(draw(50 + host, 50, 2000))});
  }
  const auto join = [&](Node a, Node b, std::uint64_t number) {
    t.cables.push_back({.a = static_cast<Node>(hosts + a),
                        .b = static_cast<Node>(hosts + b),
                        .rate_bps = static_cast<double>(draw(90 + number, 1, 10)) * 10 * kGbps,
                        .delay = nanoseconds(draw(100 + number, 50, 5000))});
  };
  for (Node i = 0; i < switches; ++i) {
    t.switches.push_back({.name = "s" + std::to_string(i),
                          .buffer_bytes = draw(70, 2, 6) * 1'000'000,
                          .pause = true});
    if (i > 0) join(i, static_cast<Node>(draw(80 + i, 0, i - 1u)), i);
  }
  for (std::uint64_t i = 0; i < more; ++i) {
    const auto from = static_cast<Node>(draw(120 + i, 0, switches - 1));
    const auto distance = static_cast<Node>(draw(130 + i, 1, switches - 1u));
    join(from, static_cast<Node>((from + distance) % switches), 140 + i);
  }
  config.workload.sendings.front().pattern =
      draw(2, 0, 1) == 0 ? SendPattern::all_to_all : SendPattern::permutation;
  config.perf.duration = milliseconds(3);
  config.perf.path.seed = seed;
  return config;
}

std::uint64_t paused_ports(const NetworkResult& result) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      result.ports, [](const PortResult& port) { return port.all.paused > Duration{}; }));
}

/// Trees of switches have no cycles: whatever waits there goes on again.
TEST(Network, no_deadlock_is_named_in_random_trees) {
  std::uint64_t paused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const NetworkResult result = run_network(random_network(seed, "trees", 0));
    EXPECT_TRUE(result.deadlocks.empty()) << "seed " << seed;
    paused += paused_ports(result);
  }
  EXPECT_GT(paused, 100u) << "the networks are too idle to tell";
}

/// With cycles of cables: no port of a deadlock that is named sends anything until the run ends.
TEST(Network, what_is_named_a_deadlock_never_goes_on) {
  std::uint64_t paused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    NetworkRunConfig config = random_network(seed, "meshes", 1 + seed % 3);
    config.sample = microseconds(100);
    const NetworkResult result = run_network(config);
    paused += paused_ports(result);
    for (const DeadlockResult& deadlock : result.deadlocks)
      for (const PortSample& sample : result.samples) {
        const bool waits = std::ranges::find(deadlock.ports, sample.port) != deadlock.ports.end();
        if (!waits || sample.at - config.sample <= deadlock.since) continue;
        EXPECT_EQ(sample.utilization, 0) << "seed " << seed << ", port " << sample.port;
      }
  }
  EXPECT_GT(paused, 200u) << "the networks are too idle to tell";
}

TEST(Network, a_load_has_a_rate_and_no_port_is_used_above_its_own) {
  NetworkRunConfig config = incast(star(2, {}, 10 * kGbps), milliseconds(20));
  config.workload.sendings.front().load = 0.3;
  config.workload.sendings.front().sizes = {{.bytes = 65536}};
  config.sample = microseconds(10);
  const NetworkResult result = run_network(config);
  EXPECT_NEAR(result.total_bps / kGbps, 2 * 0.3 * 10, 0.8);
  EXPECT_FALSE(result.fairness());
  bool full = false;
  for (const PortSample& sample : result.samples) {
    EXPECT_LE(sample.utilization, 1);
    full |= sample.utilization > 0.999;
  }
  EXPECT_TRUE(full);
}

TEST(Network, parallel_cables_have_names_of_their_own) {
  Topology t = star(2, {});
  t.cables.push_back(t.cables[1]);
  EXPECT_EQ(cable_suffixes(t), (std::vector<std::string>{"", "#1", "", "#2"}));
}

TEST(Network, flows_spread_over_equal_ways_and_keep_to_theirs) {
  constexpr std::uint16_t kWays = 4, kQps = 256;
  Topology t;
  t.hosts = {"a", "b"};
  t.switches = {{.name = "west"}, {.name = "east"}};
  for (int i = 0; i < kWays; ++i) t.switches.push_back({.name = "m" + std::to_string(i)});
  t.cables = {{.a = 0, .b = 2, .rate_bps = 400 * kGbps, .delay = microseconds(1)},
              {.a = 3, .b = 1, .rate_bps = 400 * kGbps, .delay = microseconds(1)}};
  for (Node way = 4; way < 4 + kWays; ++way) {
    // Ways of different length would reorder a flow that changed its way.
    t.cables.push_back({.a = 2, .b = way, .rate_bps = 100 * kGbps, .delay = microseconds(way)});
    t.cables.push_back({.a = way, .b = 3, .rate_bps = 100 * kGbps, .delay = microseconds(1)});
  }
  const Routes routes(t);
  EXPECT_EQ(routes.next(2, 1).size(), std::size_t{kWays});
  std::map<std::uint16_t, int> flows;
  for (std::uint32_t qp = 0; qp < kQps; ++qp) {
    transport::Packet packet;
    packet.to_host = 1;
    packet.source_qp = packet.dest_qp = Host::qpn_of(qp);
    ++flows[routes.choose(2, packet)];
  }
  ASSERT_EQ(flows.size(), std::size_t{kWays});
  for (const auto& [port, count] : flows) EXPECT_NEAR(count, kQps / kWays, 40) << port;

  NetworkRunConfig config = incast(t, milliseconds(2));
  config.workload.sendings.front().senders = {0};
  config.workload.sendings.front().qps = kQps;
  config.perf.qp.tx_depth = 1;
  config.perf.size = 16384;
  const NetworkResult result = run_network(config);
  EXPECT_EQ(result.retransmitted, 0u);
  std::uint64_t sent = 0;
  for (Node way = 4; way < 4 + kWays; ++way) {
    const PortResult port = port_to(result, 2, way);
    EXPECT_GT(port.all.sent, 0u);
    sent += port.all.sent;
  }
  EXPECT_LE(sent, result.packets);
  EXPECT_GT(static_cast<double>(sent), 0.95 * static_cast<double>(result.packets));
}

TEST(Network, routes_know_what_cannot_be_reached) {
  Topology t;
  t.hosts = {"a", "b", "c"};
  t.switches = {{.name = "s"}};
  t.cables = {{.a = 0, .b = 3}, {.a = 1, .b = 3}};
  const Routes routes(t);
  EXPECT_TRUE(routes.reaches(0, 1));
  EXPECT_FALSE(routes.reaches(0, 2));
  EXPECT_FALSE(routes.reaches(2, 0));
}

/// Packets at a link with random arrivals and constant service: the mean number of packets is
/// r + r^2 / (2 (1 - r)), by Pollaczek and Khinchine.
TEST(Network, random_packets_wait_as_in_an_m_d_1_queue) {
  constexpr std::uint16_t kSenders = 64;
  for (const double load : {0.5, 0.7, 0.85}) {
    NetworkRunConfig config =
        incast(star(kSenders, {.name = "s", .buffer_bytes = 100'000'000}), milliseconds(120));
    config.perf.size = 4096;
    config.workload.sendings.front().load =
        load / kSenders * 4096 / 4194;  // of payload; r is that of the link
    config.workload.sendings.front().sizes = {{.bytes = 4096}};
    config.warm_up = milliseconds(10);
    config.sample = milliseconds(10);
    const NetworkResult result = run_network(config);
    const PortResult port = port_to(result, kSenders + 1, kSenders);
    const double r = port.utilization;
    EXPECT_NEAR(r, load, 0.02);
    const double packets = port.mean_bytes / (4194 - 24);
    const double expected = r + r * r / (2 * (1 - r));
    // 25,000 to 40,000 packets a run of strongly correlated waits; senders cannot overlap
    // themselves.
    EXPECT_NEAR(packets / expected, 1, load > 0.8 ? 0.12 : 0.05) << "at " << load;
  }
}

/// The published micro-benchmark of DCQCN (Zhu et al., 2015): two flows through one 40 Gb/s port,
/// the second of which starts later, converge to fair shares and full use of the link.
TEST(Network, two_dcqcn_flows_converge_to_fair_shares) {
  SwitchConfig config{.name = "s", .buffer_bytes = 12'000'000};
  config.marking = emulator::Red{.kmin_bytes = 5'000, .kmax_bytes = 200'000, .share = 0.01};
  for (const Duration round_trip : {microseconds(4), microseconds(85)}) {
    NetworkRunConfig run = incast(star(2, config, 40 * kGbps, round_trip / 4), milliseconds(200));
    run.workload.sendings.front().start_within = milliseconds(10);
    run.warm_up = milliseconds(100);
    run.perf.size = 1 << 20;
    auto& qp = run.perf.qp;
    qp.rate_control = transport::RateControl::dcqcn;
    qp.dcqcn.rpg_time_reset_us = 55;
    qp.dcqcn.rpg_byte_reset = 10e6;
    qp.dcqcn.rpg_threshold = 5;
    qp.dcqcn.rpg_ai_rate_mbps = 40;
    qp.dcqcn.rpg_hai_rate_mbps = 40;
    qp.dcqcn.dce_tcp_g = 1020;  // g = 1/256
    qp.dcqcn.dce_tcp_rtt_us = 55;
    qp.dcqcn.min_time_between_cnps_us = 50;
    qp.dcqcn.alpha_update = transport::AlphaUpdate::after_cut;
    qp.dcqcn.clamp_tgt_rate = true;
    const NetworkResult result = run_network(run);
    EXPECT_EQ(result.dropped(), 0u);
    EXPECT_GT(result.fairness().value_or(0), 0.97) << round_trip.count();
    EXPECT_GT(result.total_bps, 0.95 * 40 * kGbps * 4096 / 4178) << round_trip.count();
    EXPECT_LT(port_to(result, 3, 2).late.most_bytes, 1'000'000u) << "the queue is not stable";
  }
}

TEST(Network, a_permutation_has_each_host_once_and_none_for_itself) {
  Sending config;
  config.pattern = SendPattern::permutation;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::set<Node> receivers;
    for (const auto& [from, to] : pairs_of(config, 17, seed)) {
      EXPECT_NE(from, to);
      receivers.insert(to);
    }
    EXPECT_EQ(receivers.size(), 17u);
  }
}

TEST(Network, the_same_seed_gives_the_same_run_and_cnps_go_first) {
  SwitchConfig config{.name = "s", .buffer_bytes = 2'000'000};
  config.marking = emulator::Red{.kmin_bytes = 50'000, .kmax_bytes = 500'000, .share = 0.1};
  NetworkRunConfig run = incast(star(4, config), milliseconds(5));
  run.perf.qp.rate_control = transport::RateControl::dcqcn;
  const NetworkResult once = run_network(run), again = run_network(run);
  EXPECT_EQ(once.packets, again.packets);
  EXPECT_EQ(once.events, again.events);
  EXPECT_EQ(once.marked(), again.marked());
  EXPECT_GT(once.cnps, 0u);
  run.perf.path.seed = 2;
  EXPECT_NE(run_network(run).events, once.events);
}

/// A long cable makes two parts, which run one after the other. Short cables to a switch that no
/// packet passes make them one again, in which all events are in the order of time.
TEST(Network, parts_that_run_alone_change_nothing) {
  NetworkRunConfig run =
      incast(star(4, {.name = "near", .buffer_bytes = 3'000'000}), milliseconds(40));
  Topology& t = run.topology;
  t.switches[0].marking = emulator::Red{.kmin_bytes = 100'000, .kmax_bytes = 2'000'000};
  t.switches.push_back({.name = "far"});
  const Node near = 5, far = 6;
  t.cables.back() = {.a = near, .b = far, .delay = microseconds(250)};
  t.cables.push_back({.a = far, .b = 4, .delay = microseconds(1)});
  run.workload.sendings.front().qps = 4;
  run.perf.qp.rate_control = transport::RateControl::dcqcn;
  const NetworkResult parts = run_network(run);
  t.switches.push_back({.name = "aside"});
  t.cables.push_back({.a = near, .b = 7, .delay = microseconds(1)});
  t.cables.push_back({.a = far, .b = 7, .delay = microseconds(1)});
  const NetworkResult one = run_network(run);
  EXPECT_GT(parts.dropped(), 0U);
  EXPECT_GT(parts.marked(), 0U);
  EXPECT_GT(parts.retransmitted, 0U);
  EXPECT_EQ(parts.packets, one.packets);
  EXPECT_EQ(parts.retransmitted, one.retransmitted);
  EXPECT_EQ(parts.cnps, one.cnps);
  EXPECT_EQ(parts.flow_bps, one.flow_bps);
  std::vector<std::uint64_t> in_parts, in_one;
  const auto list = [](const NetworkResult& result, std::vector<std::uint64_t>& all) {
    for (const PortSample& sample : result.samples)
      if (const PortResult& port = result.ports[sample.port]; port.node != 7 && port.to != 7)
        all.insert(all.end(), {sample.most_bytes, sample.marked, sample.dropped});
  };
  list(parts, in_parts);
  list(one, in_one);
  EXPECT_EQ(in_parts, in_one);
}

/// The same without drops, as the far switch pauses the near one, on one thread and on two.
TEST(Network, pauses_between_parts_and_threads_change_nothing) {
  constexpr std::uint64_t kHeadroom = 4'000'000, kBuffer = 40'000'000;
  const SwitchConfig near_config{
      .name = "near", .buffer_bytes = kBuffer, .pause = true, .headroom_bytes = kHeadroom};
  NetworkRunConfig run = incast(star(4, near_config), milliseconds(20));
  Topology& t = run.topology;
  t.switches.push_back(near_config);
  t.switches[1].name = "far";
  const Node near = 5, far = 6, aside = 7;
  t.cables.back() = {.a = near, .b = far, .delay = microseconds(100)};
  t.cables.push_back({.a = far, .b = 4, .rate_bps = 25 * kGbps, .delay = microseconds(1)});
  run.workload.sendings.front().qps = 4;
  const auto figures = [](const NetworkResult& of) {
    std::vector<std::uint64_t> all = {of.packets};
    for (const PortSample& sample : of.samples)
      if (const PortResult& port = of.ports[sample.port]; port.node != aside && port.to != aside)
        all.insert(all.end(),
                   {sample.most_bytes, static_cast<std::uint64_t>(sample.paused.count())});
    return all;
  };
  const NetworkResult parts = run_network(run);
  EXPECT_EQ(parts.dropped(), 0U);
  EXPECT_GT(parts.hosts_paused.count(), 0);
  EXPECT_GT(port_to(parts, near, far).all.paused.count(), 0);
  run.threads = 2;
  EXPECT_EQ(figures(run_network(run)), figures(parts));
  // As one part, with room for the headroom of one port more.
  for (SwitchConfig& config : t.switches) config.buffer_bytes += kHeadroom;
  t.switches.push_back({.name = "aside"});
  t.cables.push_back({.a = near, .b = aside, .delay = microseconds(1)});
  t.cables.push_back({.a = far, .b = aside, .delay = microseconds(1)});
  EXPECT_EQ(figures(run_network(run)), figures(parts));
}

/// Two senders of eight QPs each, marked all the time: a notification point sends one CNP in 50 us
/// for each QP, for each host that it goes to, or in all.
TEST(Network, cnps_are_spaced_out_by_their_scope) {
  using transport::CnpScope;
  SwitchConfig config{.name = "s", .buffer_bytes = 20'000'000};
  config.marking = emulator::Red{.kmin_bytes = 0, .kmax_bytes = 0};
  std::map<CnpScope, std::uint64_t> cnps;
  for (const CnpScope scope : {CnpScope::qp, CnpScope::destination, CnpScope::port}) {
    NetworkRunConfig run = incast(star(2, config), milliseconds(10));
    run.workload.sendings.front().qps = 8;
    run.workload.sendings.front().start_within = {};
    run.perf.qp.rate_control = transport::RateControl::dcqcn;
    run.perf.qp.dcqcn.min_time_between_cnps_us = 50;
    run.perf.qp.dcqcn.cnp_scope = scope;
    run.perf.qp.dcqcn.rpg_min_rate_mbps = 6500;  // more than the link in all
    cnps[scope] = run_network(run).cnps;
  }
  constexpr std::uint64_t kMost = 10'000 / 50 + 1;  // of one notification point
  EXPECT_LE(cnps[CnpScope::port], kMost);
  EXPECT_GT(cnps[CnpScope::port], kMost * 3 / 4);
  EXPECT_LE(cnps[CnpScope::destination], 2 * kMost);
  EXPECT_GT(cnps[CnpScope::destination], 4 * kMost / 3);
  EXPECT_LE(cnps[CnpScope::qp], 16 * kMost);
  EXPECT_GT(cnps[CnpScope::qp], 8 * kMost);
}

}  // namespace
}  // namespace lw::sim
