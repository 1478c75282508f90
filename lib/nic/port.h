// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <string>

#include <rte_ethdev.h>

#include "core/error.h"
#include "core/time.h"
#include "nic/eal.h"
#include "nic/pool.h"
#include "nic/port_spec.h"
#include "nic/timed_sending.h"

namespace lw::nic {

struct PortConfig {
  std::uint16_t receive_ring = 1024, send_ring = 1024;  // descriptors asked for; devices round
  std::uint16_t send_queues = 1;                        // each for a thread of its own
  bool timed_sending = false;                           // wanted, where the device can
};

/// What the device itself counted. `missed` and `no_buffer` are frames that nobody got to see.
struct PortStats {
  std::uint64_t received = 0, sent = 0, missed = 0, no_buffer = 0, receive_errors = 0,
                send_errors = 0;
};

/// One device: a queue to receive from, and one or several to send on. One thread a queue.
/// Frames of up to the pool's frame size, jumbo too; received ones are single buffers.
class Port {
 public:
  /// Opens, configures and starts; wait_link() comes before the first frame. Received frames come
  /// from `pool`, which must outlive the port. Errors (environment) name the port, what is there
  /// instead, and what DPDK said.
  static Result<Port> open(const Eal& eal, const PortSpec& spec, const Pool& pool,
                           const PortConfig& config = {});

  Port(Port&& other) noexcept;
  Port& operator=(Port&& other) noexcept;
  ~Port();  // stops and closes: files are complete, links down

  /// Takes what has arrived, up to out.size() frames; they are the caller's.
  std::size_t receive(std::span<rte_mbuf*> out) noexcept {
    const auto count = rte_eth_rx_burst(id_, 0, out.data(), static_cast<std::uint16_t>(out.size()));
    if (count == 0) [[unlikely]]
      idle_ = true;
    return count;
  }

  /// Hands frames over in order; returns how many the device took. The rest stay the caller's.
  std::size_t send(std::span<rte_mbuf*> frames, std::uint16_t queue = 0) noexcept {
    return rte_eth_tx_burst(id_, queue, frames.data(), static_cast<std::uint16_t>(frames.size()));
  }

  /// True once a file has been read to its end, and of a port that has none to read.
  [[nodiscard]] bool exhausted() const noexcept { return finite_ && idle_; }
  /// True where frames come from a file or nowhere: nothing new will ever arrive once exhausted.
  [[nodiscard]] bool finite() const noexcept { return finite_; }

  [[nodiscard]] bool link_up() const noexcept;
  /// Takes the link down, or brings it up, so that the other end sees it: the device's, or a Linux
  /// interface's. A thread of its own may do it while others receive. False: this port can't.
  bool set_link(bool up) noexcept;
  /// Waits for the link, for a memif client until its server is there (it starts only then).
  /// Gives up after `timeout` (environment), or as soon as `cancelled` is true (failed).
  Result<void> wait_link(Duration timeout, const std::atomic<bool>& cancelled);

  /// The link's rate, bits a second, where the port knows of one: a PCI device while its link is
  /// up, a Linux interface that says so. DPDK's virtual devices all claim 10 Gb/s; they have none.
  [[nodiscard]] std::optional<double> link_bps() const;
  /// Whether the device sends each frame at a time that the frame carries.
  [[nodiscard]] bool is_timed() const noexcept { return time_field_ >= 0; }
  /// What puts the time into frames; a thread has one of its own. Only where it is_timed(). Nothing
  /// when the device's clock can't be read.
  [[nodiscard]] std::optional<TimedSending> timed_sending() const;
  /// The device's own address.
  [[nodiscard]] std::array<std::byte, 6> mac_address() const noexcept;

  [[nodiscard]] PortStats stats() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint16_t id() const noexcept { return id_; }

 private:
  void restart() noexcept;
  static constexpr std::uint16_t kNone = RTE_MAX_ETHPORTS;
  Port(std::uint16_t id, const PortSpec& spec);
  Result<void> configure(const Eal& eal, const Pool& pool, const PortConfig& config);
  void close() noexcept;

  std::uint16_t id_ = kNone;
  int time_field_ = -1;  // in buffers; -1: the device sends at once
  std::uint64_t time_flag_ = 0;
  bool finite_ = false;
  bool idle_ = false;
  bool memif_ = false, memif_client_ = false;
  bool started_ = false;
  std::string name_;
  std::string interface_;  // of Linux; empty where it isn't one
};

}  // namespace lw::nic
