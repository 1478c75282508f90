// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "gen/arp/arp_responder.h"
#include "gen/stats/run_stats.h"
#include "gen/tx/tx_burst.h"

namespace lw::gen {

/// A port with own addresses, which answers requests for them. Call it from the thread that sends
/// through the port.
class ResponderPort {
 public:
  /// `port` and `pool` must outlive it.
  ResponderPort(nic::Port& port, const nic::Pool& pool, ArpResponder responder);

  /// Receives up to a burst of frames and answers the requests.
  void poll();
  /// Like poll(). Returns the neighbours' entries that were received.
  std::vector<NeighborEntry> poll_entries();

  // For a caller that receives the port's frames itself:
  /// Queues the answer to a frame, if there is one.
  void answer(wire::Bytes frame);
  void send_answers() noexcept;

  /// Sends an own frame at once.
  void send(wire::Bytes frame) noexcept;

 private:
  template <class Use>
  void receive(Use&& use);

  friend class NeighborTable;

  nic::Port& port_;
  bool polls_ = true;
  ArpResponder responder_;
  TxBurst burst_;
  std::array<rte_mbuf*, TxBurst::kFrames> buffers_{};
  std::vector<std::byte> answer_;
};

/// The responder ports of a run, and the MAC addresses of its next hops. The source of flow i is an
/// address of port i modulo the number of ports.
class NeighborTable {
 public:
  /// Ports on a network (a Linux interface, a PCI device) respond; others (memif, files) only if
  /// the profile has `[presence]` or a flow that resolves its next hop.
  NeighborTable(const config::FlowProfile& profile, std::span<nic::Port> ports,
                const nic::Pool& pool);

  /// Sets the destination MAC address of each flow that resolves its next hop. Sends three
  /// requests, one second apart. Errors (environment): a next hop didn't answer.
  Result<void> resolve(config::FlowProfile& profile, const Limits& limits);

  /// Polls the responder ports.
  void poll();

  /// The responder of a port; null if it has none.
  [[nodiscard]] ResponderPort* responder_of(const nic::Port& port) noexcept;
  /// Leaves receiving from this port to the caller, who passes frames to responder_of().
  void stop_polling(const nic::Port& port) noexcept;

 private:
  std::vector<std::unique_ptr<ResponderPort>> responders_;  // by port; may be null
  std::vector<std::string> names_;
};

}  // namespace lw::gen
