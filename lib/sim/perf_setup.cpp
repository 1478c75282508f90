// SPDX-License-Identifier: BSD-3-Clause
#include "sim/perf_setup.h"

#include <algorithm>

namespace lw::sim {

using transport::Memory;

namespace {

LineConfig line_of(const PerfConfig& config, const char* name) {
  LineConfig line{.delay = config.path.one_way + 2 * config.nic.latency,
                  .bottleneck = config.path.bottleneck,
                  .mishaps = config.path.mishaps};
  line.mishaps.name = name;
  return line;
}

Memory memory_of(const PerfConfig& config) {
  return {Memory::Kind::virtual_only, kPerfVa, std::max<std::uint64_t>(config.size, 8), kPerfKey};
}

}  // namespace

PerfPair connect(Simulation& simulation, const PerfConfig& config) {
  Line& there = simulation.add_line(path::Direction::west_to_east, line_of(config, "there"));
  LineConfig way_back = line_of(config, "back");
  way_back.delay += config.path.way_back.value_or(config.path.one_way) - config.path.one_way;
  Line& back = simulation.add_line(path::Direction::east_to_west, way_back);
  PerfPair pair;
  pair.client = &simulation.add_host(config.nic, memory_of(config), there);
  pair.server = &simulation.add_host(config.nic, memory_of(config), back);
  for (std::uint32_t i = 0; i < config.qps; ++i) {
    transport::QpConfig qp = config.qp;
    qp.dest_qpn = Host::qpn_of(i);
    qp.endless_receives = true;
    qp.dest_host = pair.server->number();
    pair.client->add_qp(qp);
    qp.dest_host = pair.client->number();
    pair.server->add_qp(qp);
  }
  return pair;
}

transport::WorkRequest request_of(const PerfConfig& config) noexcept {
  const bool atomic = config.operation == wire::Operation::cmp_swap ||
                      config.operation == wire::Operation::fetch_add;
  return {.operation = config.operation,
          .immediate = config.immediate,
          .length = atomic ? 8 : config.size,
          .local_va = kPerfVa,
          .remote_va = kPerfVa,
          .r_key = kPerfKey,
          .swap_add = 1};
}

}  // namespace lw::sim
