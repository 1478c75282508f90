// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "gen/tx/send_buffers.h"
#include "nic/eal.h"
#include "nic/pool.h"
#include "nic/port.h"

namespace lw::gen {

struct PortsConfig {
  nic::PortConfig port;
  bool sends_flows = false;  // there are send_buffers()
  std::uint16_t cores = 1;   // lcores, and send queues of each port; more than 1 are pinned
};

/// The ports of a run, and what they need. One a process, because EAL is.
class Ports {
 public:
  /// Opens ports as a person named them. Their links may still be down. Errors: nic's.
  static Result<Ports> open(const std::vector<std::string>& names, bool verbose,
                            const PortsConfig& config = {});

  /// Waits for every link; gives up (environment) after `timeout`, or when cancelled.
  Result<void> wait_links(Duration timeout, const std::atomic<bool>& cancelled);

  /// What is still on its way to the other side gets there before the ports close: a memif server
  /// or client drops what it hasn't read once its peer is gone, and DPDK can't tell how much that
  /// is.
  void linger() const;

  [[nodiscard]] std::vector<nic::Port>& all() noexcept { return ports_; }
  [[nodiscard]] const std::vector<nic::Port>& all() const noexcept { return ports_; }
  [[nodiscard]] const nic::Pool& pool() const noexcept { return pool_; }
  /// Only where they were configured.
  [[nodiscard]] SendBuffers& send_buffers() noexcept { return *send_buffers_; }
  [[nodiscard]] const nic::Eal& eal() const noexcept { return eal_; }

 private:
  Ports(nic::Eal eal, nic::Pool pool) : eal_(std::move(eal)), pool_(std::move(pool)) {}

  // In the order of need: the ports go first, EAL last.
  nic::Eal eal_;
  nic::Pool pool_;
  std::optional<SendBuffers> send_buffers_;
  std::vector<nic::Port> ports_;
  bool shared_memory_ = false;
};

}  // namespace lw::gen
