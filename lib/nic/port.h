// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <rte_ethdev.h>

#include "core/error.h"
#include "core/time.h"
#include "nic/eal.h"
#include "nic/interface.h"
#include "nic/pool.h"
#include "nic/pool_order.h"
#include "nic/port_spec.h"
#include "nic/timed_sending.h"

namespace lw::nic {

struct PortConfig {
  std::uint16_t receive_ring = 1024, send_ring = 1024;  // descriptors; devices may round
  std::uint16_t send_queues = 1;                        // one per sending thread
  bool timed_sending = false;   // send at timestamps, if the device supports it
  bool stamp_arrivals = false;  // ask the device for stamps(), if its driver has them
};

/// Counters of the device or interface, in frames.
struct PortStats {
  std::uint64_t received = 0, sent = 0;
  // Lost before receive(): in a ring of the device or the kernel; because no buffer was free.
  std::uint64_t missed = 0, no_buffer = 0;
  std::uint64_t receive_errors = 0, send_errors = 0;
  // Only for Linux interfaces. Lost before receive(), because longer than a buffer; accepted by
  // send(), but lost because longer than the MTU, or dropped by the interface.
  std::uint64_t too_long = 0, unsent_too_long = 0, unsent_dropped = 0;

  /// Frames that were lost before receive().
  [[nodiscard]] std::uint64_t unseen() const noexcept { return missed + no_buffer + too_long; }
};

class PortBackend;

/// One device or Linux interface with one receive queue and one or more send queues. Each queue is
/// for one thread. Frames may be as large as the pool's frame size; each received frame is a single
/// buffer. A PortBackend moves them; a device whose bursts need no check of ours is called
/// directly.
class Port {
 public:
  /// Opens, configures and starts the port; call wait_link() before the first frame. Buffers of
  /// received frames come from `pool`, which must outlive the port. Errors (environment) name the
  /// port and the alternatives, and quote DPDK.
  static Result<Port> open(const Eal& eal, const PortSpec& spec, const Pool& pool,
                           const PortConfig& config = {});

  Port(Port&&) noexcept;
  Port& operator=(Port&&) = delete;
  ~Port();  // stops and closes: completes files, takes the link down

  /// Receives up to out.size() frames without waiting; returns their number. The caller owns them.
  std::size_t receive(std::span<rte_mbuf*> out) noexcept {
    const std::size_t count =
        direct_ != kNone
            ? rte_eth_rx_burst(direct_, 0, out.data(), static_cast<std::uint16_t>(out.size()))
            : receive_through_backend(out);
    PoolOrder::acquire();
    if (count == 0) [[unlikely]]
      idle_ = true;
    return count;
  }

  /// True if the kernel, or the device, stamps frames when they arrive.
  [[nodiscard]] bool has_stamps() const noexcept;
  /// The stamps of the frames that receive() returned last (CLOCK_REALTIME, ns), of at most 64;
  /// whether it left none in the port's ring. Only with has_stamps().
  [[nodiscard]] std::span<const std::int64_t> stamps() const noexcept;
  [[nodiscard]] bool is_drained() const noexcept;
  /// How far off the stamps of a DPDK port may be, by their resolution and by the readings of the
  /// device's clock; nothing for other ports.
  [[nodiscard]] std::optional<Duration> stamp_uncertainty() const noexcept;
  /// Asks for departures(), before the first send(). Returns false if this kind of port knows none.
  bool stamp_departures() noexcept;
  /// When the frames left that the last send() on this queue has sent (CLOCK_REALTIME, ns), by the
  /// stamps of the interface's driver: of all, in order, or none, as of large sends.
  [[nodiscard]] std::span<const std::int64_t> departures(std::uint16_t queue = 0) const noexcept;

  /// Sends frames in order. Returns how many the device accepted; the caller still owns the others.
  std::size_t send(std::span<rte_mbuf*> frames, std::uint16_t queue = 0) noexcept {
    PoolOrder::release();
    if (direct_ == kNone) return send_through_backend(frames, queue);
    return rte_eth_tx_burst(direct_, queue, frames.data(),
                            static_cast<std::uint16_t>(frames.size()));
  }

  /// Stops counting receive losses, because no one receives any more. Any thread.
  void end_receiving();

  /// True if no more frames will arrive: the port's file was read to its end, or it has none.
  [[nodiscard]] bool exhausted() const noexcept { return finite_ && idle_; }
  /// True if frames come from a file, or never come, so that the port can become exhausted().
  [[nodiscard]] bool finite() const noexcept { return finite_; }

  [[nodiscard]] bool link_up() const noexcept;
  /// Sets the link of the device or Linux interface up or down; the other end sees it. Any thread.
  /// Returns false if the port doesn't support it. The end of the port, or of the process by a
  /// signal, sets up again what was set down.
  bool set_link(bool up) noexcept;
  /// Waits for the link; starts a memif client when its server is there. Errors: no link within
  /// `timeout` (environment), or `cancelled` became true (failed). Calls `meanwhile`, if given,
  /// every few milliseconds.
  Result<void> wait_link(Duration timeout, const std::atomic<bool>& cancelled,
                         const std::function<void()>& meanwhile = {});

  enum class LinkState : std::uint8_t {
    up,
    down,
    gone,  // the Linux interface was deleted, or another one now has its name
  };
  /// State of the link of a Linux interface or PCI device. Other ports are always `up`, because a
  /// memif peer may leave and come back. Any thread, like bind_again().
  [[nodiscard]] LinkState link_state() const noexcept;
  /// After `gone`: binds to the interface that now has the name. Returns false if there is none, or
  /// if the port uses a DPDK driver.
  bool bind_again();

  /// The link's rate in bits per second, if known: of a PCI device while its link is up, or of a
  /// Linux interface that reports it. Nothing for DPDK's virtual devices, which all report 10 Gb/s.
  [[nodiscard]] std::optional<double> link_bps() const;
  /// Returns the object that writes timestamps into frames, one per thread. Nothing if the device
  /// doesn't send each frame at the timestamp in its buffer, or its clock can't be read.
  [[nodiscard]] std::optional<TimedSending> timed_sending() const;
  /// The device's MAC address.
  [[nodiscard]] std::array<std::byte, 6> mac_address() const noexcept;

  /// Returns the counters. Losses of a Linux interface are counted since wait_link(). Any thread.
  [[nodiscard]] PortStats stats() const;
  /// False if the port is a Linux interface that no longer exists.
  [[nodiscard]] bool exists() const noexcept { return !interface_ || interface_->index() != 0; }
  /// Longest IP packet that a Linux interface sends, in bytes; nothing for other ports.
  [[nodiscard]] std::optional<std::uint32_t> mtu() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// DPDK's number of the device; nothing for a port through our own packet sockets.
  [[nodiscard]] std::optional<std::uint16_t> device() const noexcept;

 private:
  static constexpr std::uint16_t kNone = RTE_MAX_ETHPORTS;
  Port(std::unique_ptr<PortBackend> backend, const PortSpec& spec);
  std::size_t receive_through_backend(std::span<rte_mbuf*> out) noexcept;
  std::size_t send_through_backend(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept;

  std::unique_ptr<PortBackend> backend_;
  std::uint16_t direct_ = kNone;  // device(), if its bursts are called directly; otherwise kNone
  bool finite_;
  bool idle_ = false;
  bool is_set_down_ = false;  // by set_link()
  std::string name_;
  std::optional<NetworkInterface> interface_;  // of a Linux interface
};

}  // namespace lw::nic
