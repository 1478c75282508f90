// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/ports.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace lw::gen {
namespace {

constexpr std::uint32_t kOwnMemoryMib = 64;
constexpr auto kDrainTime = std::chrono::milliseconds(300);

Result<std::vector<nic::PortSpec>> parse_all(const std::vector<std::string>& names) {
  std::vector<nic::PortSpec> specs;
  for (const std::string& name : names) {
    auto spec = nic::parse_port_spec(name);
    if (!spec) return std::unexpected(spec.error());
    specs.push_back(std::move(*spec));
  }
  return specs;
}

/// The CPUs to pin to; none for a single core, which isn't pinned.
Result<std::vector<int>> cpus_for(std::uint16_t cores, const std::vector<nic::PortSpec>& specs) {
  if (cores == 1) return std::vector<int>{};
  for (const nic::PortSpec& spec : specs) {
    // Its peers read one queue only.
    if (spec.as<nic::MemifPort>() == nullptr) continue;
    return fail(
        fmt::format("port `{}` has one send queue, --cores {} needs {}", spec.text, cores, cores));
  }
  std::vector<int> cpus = nic::allowed_cpus();
  if (cores > cpus.size()) {
    return fail(fmt::format("--cores {}: this process may use {} CPUs", cores, cpus.size()),
                ExitCode::environment);
  }
  cpus.resize(cores);
  return cpus;
}

}  // namespace

Result<Ports> Ports::open(const std::vector<std::string>& names, bool verbose,
                          const PortsConfig& config) {
  const auto specs = parse_all(names);
  if (!specs) return std::unexpected(specs.error());
  auto cpus = cpus_for(config.cores, *specs);
  if (!cpus) return std::unexpected(cpus.error());
  nic::PortConfig port_config = config.port;
  port_config.send_queues = config.cores;
  port_config.timed_sending |= config.sends_flows;
  nic::PoolConfig buffers;
  buffers.buffers += static_cast<std::uint32_t>(specs->size()) * config.port.receive_ring;
  for (const nic::PortSpec& spec : *specs)
    buffers.frame_size = std::min(buffers.frame_size, nic::frame_limit(spec).value_or(UINT32_MAX));
  buffers.eal_memory = std::ranges::any_of(*specs, nic::needs_eal_memory);
  nic::PoolConfig to_send = SendBuffers::kUsual;
  to_send.eal_memory = buffers.eal_memory;
  std::uint64_t for_pools = 0;
  if (buffers.eal_memory) {
    for_pools = nic::Pool::bytes_needed(buffers);
    if (config.sends_flows) for_pools += nic::Pool::bytes_needed(to_send);
  }
  auto eal =
      nic::Eal::start({.ports = *specs,
                       .cores = std::move(*cpus),
                       .memory_mib = kOwnMemoryMib + static_cast<std::uint32_t>(for_pools >> 20),
                       .verbose = verbose});
  if (!eal) return std::unexpected(eal.error());
  auto pool = nic::Pool::create("gen", buffers);
  if (!pool) return std::unexpected(pool.error());
  Ports ports(std::move(*eal), std::move(*pool));
  if (config.sends_flows) {
    auto send_buffers = SendBuffers::create("gen-send", to_send);
    if (!send_buffers) return std::unexpected(send_buffers.error());
    ports.send_buffers_ = std::move(*send_buffers);
  }
  for (const nic::PortSpec& spec : *specs) {
    auto port = nic::Port::open(ports.eal_, spec, ports.pool_, port_config);
    if (!port) return std::unexpected(port.error());
    ports.ports_.push_back(std::move(*port));
    ports.shared_memory_ |= spec.as<nic::MemifPort>() != nullptr;
  }
  return ports;
}

Result<void> Ports::wait_links(Duration timeout, const std::atomic<bool>& cancelled) {
  for (nic::Port& port : ports_) {
    if (auto up = port.wait_link(timeout, cancelled); !up) return up;
  }
  return {};
}

void Ports::drain() const {
  if (shared_memory_) std::this_thread::sleep_for(kDrainTime);
}

}  // namespace lw::gen
