// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/time.h"
#include "nic/port.h"

namespace lw::nic {

/// How the frames of a port move: a device of DPDK (dpdk_port.h), memif (memif_port.h), or packet
/// sockets (packet_port.h). Functions that Port has too are described there.
class PortBackend {
 public:
  PortBackend() = default;
  PortBackend(const PortBackend&) = delete;
  PortBackend& operator=(const PortBackend&) = delete;
  virtual ~PortBackend() = default;  // stops and closes

  virtual std::size_t receive(std::span<rte_mbuf*> out) noexcept = 0;
  virtual std::size_t send(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept = 0;
  /// See Port::stamps() and Port::is_drained().
  [[nodiscard]] virtual bool has_stamps() const noexcept { return false; }
  [[nodiscard]] virtual std::span<const std::int64_t> stamps() const noexcept { return {}; }
  [[nodiscard]] virtual std::optional<Duration> stamp_uncertainty() const noexcept {
    return std::nullopt;
  }
  [[nodiscard]] virtual bool is_drained() const noexcept { return false; }
  /// See Port::stamp_departures() and Port::departures().
  virtual bool stamp_departures() noexcept { return false; }
  [[nodiscard]] virtual std::span<const std::int64_t> departures(
      std::uint16_t /*queue*/) const noexcept {
    return {};
  }
  [[nodiscard]] virtual std::optional<std::uint16_t> device() const noexcept {
    return std::nullopt;
  }
  /// True if Port may call the bursts of device() instead of receive() and send().
  [[nodiscard]] virtual bool has_direct_bursts() const noexcept { return false; }

  [[nodiscard]] virtual bool link_up() const noexcept = 0;
  /// True if the link is up. Otherwise does what may bring it up, if that is due at `now`.
  virtual bool try_link(Instant /*now*/) { return link_up(); }
  /// This and the next two: only for ports that aren't Linux interfaces.
  [[nodiscard]] virtual Port::LinkState link_state() const noexcept { return Port::LinkState::up; }
  virtual bool set_link(bool /*up*/) noexcept { return false; }
  [[nodiscard]] virtual std::optional<double> link_bps() const { return std::nullopt; }

  /// True unless the port is bound to an interface of another index.
  [[nodiscard]] virtual bool is_bound_to(unsigned /*index*/) const noexcept { return true; }
  virtual bool bind_again() { return false; }

  [[nodiscard]] virtual std::optional<TimedSending> timed_sending() const { return std::nullopt; }
  [[nodiscard]] virtual std::array<std::byte, 6> mac_address() const noexcept = 0;
  [[nodiscard]] virtual PortStats stats() const = 0;
  /// Counts losses from now on.
  virtual void restart_counts() {}
  virtual void end_receiving() {}
};

}  // namespace lw::nic
