// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/ports.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "gen/traffic/template_set.h"
#include "nic/interface.h"

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

/// Returns the CPUs to pin to; none for a single core, which isn't pinned.
Result<std::vector<int>> cpus_for(std::uint16_t cores, const std::vector<nic::PortSpec>& specs) {
  if (cores == 1) return std::vector<int>{};
  for (const nic::PortSpec& spec : specs) {
    // The peer of a memif or vhost port reads one queue only.
    if (spec.as<nic::MemifSpec>() == nullptr && spec.as<nic::VhostSpec>() == nullptr) continue;
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
  if (auto distinct = nic::check_distinct(*specs); !distinct)
    return std::unexpected(distinct.error());
  auto cpus = cpus_for(config.cores, *specs);
  if (!cpus) return std::unexpected(cpus.error());
  nic::PortConfig port_config = config.port;
  port_config.send_queues = config.cores;
  port_config.timed_sending |= config.sends_flows;
  nic::PoolConfig buffers;
  buffers.frame_size = config.frame_size;
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
    ports.shared_memory_ |= spec.as<nic::MemifSpec>() != nullptr;
  }
  return ports;
}

namespace {

constexpr std::size_t kEthernetHeader = 14, kTag = 4;

/// Describes why a port has no link, in terms that the user can check and change.
std::string state_of(const nic::Port& port) {
  const auto spec = nic::parse_port_spec(port.name());
  if (spec && spec->as<nic::MemifSpec>() != nullptr) return "no peer is connected";
  if (spec && spec->as<nic::VhostSpec>() != nullptr) return "no guest uses it";
  const auto* interface = spec ? spec->as<nic::InterfaceSpec>() : nullptr;
  if (interface == nullptr) return "the link is down";
  const nic::NetworkInterface view(interface->interface);
  if (view.index() == 0) return "there is no such interface";
  if (view.is_up()) return "the interface has no carrier";
  return fmt::format("the interface is down: ip link set dev {} up", view.name());
}

/// Returns the longest IP packet that a port sends. DPDK's virtual devices report 1500 and send
/// longer ones.
std::optional<std::uint32_t> mtu_of(const nic::Port& port) {
  if (const auto mtu = port.mtu()) return mtu;
  const auto spec = nic::parse_port_spec(port.name());
  const auto device = port.device();
  std::uint16_t mtu = 0;
  const bool known = device && spec && spec->as<nic::PciSpec>() != nullptr &&
                     rte_eth_dev_get_mtu(*device, &mtu) == 0;
  return known ? std::optional<std::uint32_t>(mtu) : std::nullopt;
}

}  // namespace

Result<void> Ports::wait_links(Duration timeout, const std::atomic<bool>& cancelled) {
  for (nic::Port& port : ports_) {
    if (!port.link_up())
      fmt::print(stderr, "waiting for the link of port `{}`: {}\n", port.name(), state_of(port));
    auto up = port.wait_link(timeout, cancelled);
    if (up) continue;
    if (up.error().exit != ExitCode::environment) return up;
    return fail(fmt::format("{}: {}", up.error().message, state_of(port)), ExitCode::environment);
  }
  return {};
}

std::optional<std::size_t> longest_sendable(const nic::Port& port, std::size_t vlan_tags) {
  const auto mtu = mtu_of(port);
  if (!mtu) return std::nullopt;
  // Linux allows one tag in addition to the MTU.
  return *mtu + kEthernetHeader + std::min<std::size_t>(vlan_tags, 1) * kTag;
}

Result<void> check_mtu(const nic::Port& port, const std::string& who, std::size_t size,
                       std::size_t vlan_tags) {
  const auto allowed = longest_sendable(port, vlan_tags);
  if (!allowed || size <= *allowed) return {};
  const std::uint32_t mtu = *mtu_of(port);
  const auto spec = nic::parse_port_spec(port.name());
  const auto* interface = spec ? spec->as<nic::InterfaceSpec>() : nullptr;
  const std::string remedy = interface != nullptr
                                 ? fmt::format("raise it: ip link set dev {} mtu {}",
                                               interface->interface, mtu + (size - *allowed))
                                 : std::string("take a smaller `mtu`");
  return fail(
      fmt::format("port `{}`: {} has frames of {} B, and the port's MTU of {} B allows {} B; {}",
                  port.name(), who, size, mtu, *allowed, remedy));
}

Result<void> check_mtus(const config::FlowProfile& profile, std::span<const nic::Port> senders) {
  for (std::size_t i = 0; i < profile.flows.size(); ++i) {
    const config::Flow& flow = profile.flows[i];
    auto fits = check_mtu(senders[i % senders.size()], fmt::format("flow \"{}\"", flow.name),
                          longest_frame(flow), flow.frame.vlans.size());
    if (!fits) return fits;
  }
  return {};
}

NotSent lost_since(const nic::PortStats& before, const nic::Port& port, std::uint64_t taken) {
  const nic::PortStats after = port.stats();
  // The counters of an interface that has disappeared are 0.
  const auto more = [&](std::uint64_t nic::PortStats::* counter) {
    return after.*counter - std::min(after.*counter, before.*counter);
  };
  // Some drivers also count frames as errors that they did not take, and that were offered again.
  const std::uint64_t sent = more(&nic::PortStats::sent);
  const std::uint64_t errors =
      std::min(more(&nic::PortStats::send_errors), taken - std::min(taken, sent));
  NotSent lost;
  lost.add(NotSentReason::mtu, more(&nic::PortStats::unsent_too_long));
  lost.add(NotSentReason::port_error, more(&nic::PortStats::unsent_dropped) + errors);
  return lost;
}

OwnLoss not_sent_at(const PortLosses& port, std::uint64_t taken) {
  const std::uint64_t refused = port.refused.total();
  return {.place = fmt::format("port {}", port.port),
          .how = "when they were to leave",
          .lost = refused + port.lost.total(),
          .frames = taken + refused,
          .remedy =
              "send at a lower rate, give the port and its peer cores of their own, or use "
              "a faster port"};
}

OwnLoss unseen_at(const nic::Port& port, const LossTimes& times) {
  const nic::PortStats stats = port.stats();
  return {.place = fmt::format("port {}", port.name()),
          .how = "before it read them",
          .lost = stats.unseen(),
          .frames = stats.received + stats.unseen(),
          .first = times.first,
          .last = times.last,
          .remedy =
              "receive at a lower rate, give this program cores of its own, or make the "
              "kernel's backlog longer: sysctl net.core.netdev_max_backlog"};
}

void ReceiveWatch::sample(Instant now) {
  next_ = now + std::chrono::seconds(1);
  for (std::size_t i = 0; i < ports_.size(); ++i)
    times_[i].sample(ports_[i]->stats().unseen(), now - start_);
}

std::vector<OwnLoss> ReceiveWatch::losses(Instant now) {
  sample(now);
  std::vector<OwnLoss> losses;
  for (std::size_t i = 0; i < ports_.size(); ++i)
    losses.push_back(unseen_at(*ports_[i], times_[i]));
  return losses;
}

NotSentReason reason_not_sent(const nic::Port& port) noexcept {
  if (!port.exists()) return NotSentReason::port_error;
  return port.link_up() ? NotSentReason::ring_full : NotSentReason::link_down;
}

void Ports::drain() const {
  if (shared_memory_) std::this_thread::sleep_for(kDrainTime);
}

}  // namespace lw::gen
