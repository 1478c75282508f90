// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "gen/stats/run_stats.h"
#include "gen/tx/tx_burst.h"
#include "nic/eal.h"
#include "nic/pool.h"
#include "nic/port.h"

namespace lw::gen {

struct PortsConfig {
  nic::PortConfig port;
  bool sends_flows = false;                                 // create send_buffers()
  std::uint32_t frame_size = nic::PoolConfig{}.frame_size;  // largest frame in bytes, without FCS
  std::uint16_t cores = 1;  // lcores, and send queues per port; pinned if more than 1
};

/// The ports of a run, with EAL and buffer pools. At most one per process, as EAL is.
class Ports {
 public:
  /// Opens ports by their specifications. Links may still be down. Errors: those of nic.
  static Result<Ports> open(const std::vector<std::string>& names, bool verbose,
                            const PortsConfig& config = {});

  /// Waits for all links, and prints on stderr which one it waits for. Error (environment): after
  /// `timeout`, with the port and its state, or when cancelled.
  Result<void> wait_links(Duration timeout, const std::atomic<bool>& cancelled);

  /// Waits until the peer has read all frames: a memif server or client drops unread frames when
  /// its peer closes, and DPDK doesn't report how many there are.
  void drain() const;

  [[nodiscard]] std::vector<nic::Port>& all() noexcept { return ports_; }
  [[nodiscard]] const std::vector<nic::Port>& all() const noexcept { return ports_; }
  [[nodiscard]] const nic::Pool& pool() const noexcept { return pool_; }
  /// Requires PortsConfig::sends_flows.
  [[nodiscard]] SendBuffers& send_buffers() noexcept { return *send_buffers_; }
  [[nodiscard]] const nic::Eal& eal() const noexcept { return eal_; }

 private:
  Ports(nic::Eal eal, nic::Pool pool) : eal_(std::move(eal)), pool_(std::move(pool)) {}

  // Destroyed in reverse order: ports first, EAL last.
  nic::Eal eal_;
  nic::Pool pool_;
  std::optional<SendBuffers> send_buffers_;
  std::vector<nic::Port> ports_;
  bool shared_memory_ = false;
};

/// Checks that the ports send the flows' longest frames. Error (usage): names the port, the flow,
/// the length, the MTU, and the command that raises it.
Result<void> check_mtus(const config::FlowProfile& profile, std::span<const nic::Port> senders);

/// Checks that a port sends frames of `size` bytes with `vlan_tags` VLAN tags. Error (usage): as
/// check_mtus(), with `who` as the sender.
Result<void> check_mtu(const nic::Port& port, const std::string& who, std::size_t size,
                       std::size_t vlan_tags);

/// Returns the longest frame that a port sends, in bytes without FCS; nothing if it is unknown.
std::optional<std::size_t> longest_sendable(const nic::Port& port, std::size_t vlan_tags);

/// Returns the frames that the port lost since `before`, of the `taken` frames that it took,
/// according to its own counters.
NotSent lost_since(const nic::PortStats& before, const nic::Port& port, std::uint64_t taken);

/// The frames that a port did not take, and those that it took and lost, as this machine's losses.
/// `taken`: frames that it took.
OwnLoss not_sent_at(const PortLosses& port, std::uint64_t taken);

/// The frames that a port lost before they were read. `times`: samples of their number.
OwnLoss unseen_at(const nic::Port& port, const LossTimes& times);

/// Samples once a second what ports lost before it was read. One thread.
class ReceiveWatch {
 public:
  /// The ports must outlive it.
  explicit ReceiveWatch(std::vector<const nic::Port*> ports)
      : ports_(std::move(ports)), times_(ports_.size()) {}

  void start(Instant now) noexcept { start_ = next_ = now; }
  [[nodiscard]] bool due(Instant now) const noexcept { return now >= next_; }
  void sample(Instant now);
  /// The losses of each port until `now`.
  [[nodiscard]] std::vector<OwnLoss> losses(Instant now);

 private:
  std::vector<const nic::Port*> ports_;
  std::vector<LossTimes> times_;
  Instant start_{}, next_{};
};

/// Returns the reason why a port has just not taken a frame.
NotSentReason reason_not_sent(const nic::Port& port) noexcept;

}  // namespace lw::gen
