// SPDX-License-Identifier: BSD-3-Clause
#include "sim/perf_setup.h"

#include <algorithm>

namespace lw::sim {

using transport::Memory;

namespace {

using emulator::Direction;

/// Rules for a path that has none: a delay and, if its wavelength is slower than the NICs, a switch
/// whose buffer drops what it can't hold.
perf::PathRules basic_rules(const perf::PerfPath& path) {
  perf::PathRules rules;
  for (const auto direction : {Direction::west_to_east, Direction::east_to_west}) {
    const bool there = direction == Direction::west_to_east;
    emulator::RuleConfig rule;
    rule.name = there ? "there" : "back";
    rule.match = emulator::MatchedFrames::rocev2;
    rule.west_to_east = there;
    rule.east_to_west = !there;
    if (path.rate_bps > 0) {
      rule.queue =
          emulator::QueueConfig{.rate_bps = path.rate_bps, .buffer_bytes = path.buffer_bytes};
    }
    rule.delay = there ? path.one_way : path.way_back.value_or(path.one_way);
    rules.rules.push_back(rule);
  }
  return rules;
}

/// The path's rules, its loss and marking included; null when it only delays.
std::shared_ptr<const perf::PathRules> rules_of(const perf::PerfPath& path) {
  const bool faults = path.loss > 0 || path.marking > 0;
  if (!faults && path.rules) return path.rules;
  if (!faults && path.rate_bps <= 0) return nullptr;
  auto rules = std::make_shared<perf::PathRules>(path.rules ? *path.rules : basic_rules(path));
  if (faults) rules->add_faults(path.loss, path.marking);
  return rules;
}

SimLinkConfig link_of(const perf::PerfConfig& config, Direction direction,
                      const std::shared_ptr<const perf::PathRules>& rules) {
  const bool there = direction == Direction::west_to_east;
  const Duration constant =
      there ? config.path.one_way : config.path.way_back.value_or(config.path.one_way);
  return {.delay = 2 * config.nic.latency + (rules ? Duration{} : constant),
          .rules = rules,
          .direction = direction,
          .seed = config.path.seed};
}

}  // namespace

Memory memory_of(const perf::PerfConfig& config) {
  return {Memory::Kind::virtual_only, kPerfVa, std::max<std::uint64_t>(config.size, 8), kPerfKey};
}

PerfLinks add_links(Simulation& simulation, const perf::PerfConfig& config) {
  const auto rules = rules_of(config.path);
  const auto add = [&](Direction direction) {
    return &simulation.add_link(direction, link_of(config, direction, rules));
  };
  return {.there = add(Direction::west_to_east), .back = add(Direction::east_to_west)};
}

PerfPair connect(Simulation& simulation, const perf::PerfConfig& config) {
  const auto [there, back] = add_links(simulation, config);
  PerfPair pair;
  pair.client = &simulation.add_host(config.nic, memory_of(config), *there);
  pair.server = &simulation.add_host(config.nic, memory_of(config), *back);
  for (std::uint32_t i = 0; i < config.qps; ++i) {
    transport::QpConfig qp = config.qp;
    qp.dest_qpn = Host::qpn_of(i);
    qp.endless_receives = config.receives == 0;
    qp.dest_host = pair.server->number();
    pair.client->add_qp(qp);
    qp.dest_host = pair.client->number();
    pair.server->add_qp(qp);
  }
  return pair;
}

ReceivePool::ReceivePool(const perf::PerfConfig& config, Host& host)
    : config_(config), host_(host) {
  if (config.receives == 0) return;
  host.run(*this);
  for (std::uint32_t qp = 0; qp < host.qps(); ++qp)
    for (std::uint32_t i = 0; i < config.receives; ++i)
      host.post(qp, {.id = i, .va = kPerfVa, .length = config.size});
}

void ReceivePool::on_completion(transport::QpSet& /*qps*/, std::uint32_t qp,
                                const transport::Completion& done, Instant now) {
  if (!done.arrival) return;
  const transport::Receive receive{.id = done.id, .va = kPerfVa, .length = config_.size};
  config_.repost > Duration{} ? host_.post_later(qp, receive, now + config_.repost)
                              : void(host_.post(qp, receive));
}

transport::WorkRequest request_of(const perf::PerfConfig& config) noexcept {
  return {.operation = config.operation,
          .immediate = config.immediate,
          .length = config.message_bytes(),
          .local_va = kPerfVa,
          .remote_va = kPerfVa,
          .r_key = kPerfKey,
          .swap_add = 1};  // a COMPARE SWAP of 0 with 1
}

}  // namespace lw::sim
