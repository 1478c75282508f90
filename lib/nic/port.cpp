// SPDX-License-Identifier: BSD-3-Clause
#include "nic/port.h"

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "core/quantity.h"
#include "nic/clock.h"
#include "nic/memif_port.h"
#include "nic/packet_port.h"
#include "nic/set_down.h"

namespace lw::nic {
namespace {

/// Interval of looking for a link.
constexpr Duration kLinkPoll = std::chrono::milliseconds(5);

/// Returns the condition for a port's link, for an error message.
std::string what_it_waits_for(std::string_view name,
                              const std::optional<NetworkInterface>& interface) {
  if (interface && !interface->is_up())
    return fmt::format(": the interface is down: ip link set dev {} up", interface->name());
  if (interface) return ": the interface has no carrier: is the other end up?";
  const auto spec = parse_port_spec(name);
  const auto* memif = spec ? spec->as<MemifSpec>() : nullptr;
  if (memif && !memif->server)
    return "; the other side needs `,server` behind the same path, and must be running";
  if (spec && spec->as<VhostSpec>())
    return "; QEMU must use the same socket, and its guest must have set the interface up";
  return "";
}

Result<std::unique_ptr<PortBackend>> open_backend(const Eal& eal, const PortSpec& spec,
                                                  const Pool& pool, const PortConfig& config) {
  if (const auto* interface = packet_port_of(spec)) {
    if (auto there = check_interface(*interface); !there) return std::unexpected(there.error());
    return PacketPort::open(spec, pool, config.send_queues);
  }
  const auto id = probe_device(eal, spec, pool);
  if (!id) return std::unexpected(id.error());
  auto device = spec.as<MemifSpec>() ? std::make_unique<MemifPort>(*id, spec)
                                     : std::make_unique<DpdkPort>(*id, spec);
  if (auto configured = device->configure(eal, pool, config); !configured)
    return std::unexpected(configured.error());
  return device;
}

}  // namespace

Result<Port> Port::open(const Eal& eal, const PortSpec& spec, const Pool& pool,
                        const PortConfig& config) {
  auto backend = open_backend(eal, spec, pool, config);
  if (!backend) return std::unexpected(backend.error());
  return Port(std::move(*backend), spec);
}

Port::Port(std::unique_ptr<PortBackend> backend, const PortSpec& spec)
    : backend_(std::move(backend)),
      finite_(spec.as<PcapSpec>() || spec.as<NullSpec>()),
      name_(spec.text) {
  if (backend_->has_direct_bursts()) direct_ = backend_->device().value();
  if (const auto* linux_port = spec.as<InterfaceSpec>()) interface_.emplace(linux_port->interface);
}

Port::Port(Port&&) noexcept = default;

Port::~Port() {
  if (backend_ && is_set_down_) set_link(true);
}

std::size_t Port::receive_through_backend(std::span<rte_mbuf*> out) noexcept {
  return backend_->receive(out);
}

std::size_t Port::send_through_backend(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept {
  return backend_->send(frames, queue);
}

bool Port::has_stamps() const noexcept { return backend_->has_stamps(); }
std::span<const std::int64_t> Port::stamps() const noexcept { return backend_->stamps(); }
bool Port::is_drained() const noexcept { return backend_->is_drained(); }
std::optional<Duration> Port::stamp_uncertainty() const noexcept {
  return backend_->stamp_uncertainty();
}
bool Port::stamp_departures() noexcept { return backend_->stamp_departures(); }
std::span<const std::int64_t> Port::departures(std::uint16_t queue) const noexcept {
  return backend_->departures(queue);
}

void Port::end_receiving() { backend_->end_receiving(); }

bool Port::link_up() const noexcept { return backend_->link_up(); }

Port::LinkState Port::link_state() const noexcept {
  if (!interface_) return backend_->link_state();
  const unsigned index = interface_->index();
  if (index == 0 || !backend_->is_bound_to(index)) return LinkState::gone;
  if (interface_->is_running()) return LinkState::up;
  return interface_->is_lasting() ? LinkState::down : LinkState::gone;
}

bool Port::bind_again() { return backend_->bind_again(); }

bool Port::set_link(bool up) noexcept {
  // Before it is down, so that no end of the process comes between.
  if (interface_ && !up && interface_->is_up()) note_set_down(interface_->name(), true);
  const bool was_up = !interface_ || interface_->is_up();
  const bool done = interface_ ? interface_->set_up(up) : backend_->set_link(up);
  if (interface_ && up) note_set_down(interface_->name(), false);
  if (done) is_set_down_ = !up && (is_set_down_ || was_up);
  return done;
}

Result<void> Port::wait_link(Duration timeout, const std::atomic<bool>& cancelled,
                             const std::function<void()>& meanwhile) {
  const Instant give_up = now() + timeout;
  while (!backend_->try_link(now())) {
    if (cancelled.load()) return fail("stopped while waiting for a link", ExitCode::failed);
    if (now() >= give_up)
      return fail(fmt::format("port `{}`: no link within {}{}", name_, format_set_duration(timeout),
                              what_it_waits_for(name_, interface_)),
                  ExitCode::environment);
    if (meanwhile) meanwhile();
    std::this_thread::sleep_for(kLinkPoll);
  }
  // No one has received before.
  backend_->restart_counts();
  return {};
}

std::optional<double> Port::link_bps() const {
  return interface_ ? interface_->bps() : backend_->link_bps();
}

std::optional<std::uint32_t> Port::mtu() const noexcept {
  return interface_ ? interface_->mtu() : std::nullopt;
}

std::optional<std::uint16_t> Port::device() const noexcept { return backend_->device(); }

std::optional<TimedSending> Port::timed_sending() const { return backend_->timed_sending(); }

std::array<std::byte, 6> Port::mac_address() const noexcept { return backend_->mac_address(); }

PortStats Port::stats() const { return backend_->stats(); }

}  // namespace lw::nic
