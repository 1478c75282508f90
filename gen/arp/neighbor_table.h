// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>

#include "config/flow/flow_profile.h"
#include "gen/arp/arp_responder.h"
#include "gen/stats/limits.h"
#include "gen/tx/tx_burst.h"

namespace lw::gen {

/// A port with addresses of its own: answers who asks for them. The thread that sends there calls
/// it, so that the port keeps one user.
class ResponderPort {
 public:
  ResponderPort(nic::Port& port, const nic::Pool& pool, ArpResponder presence);

  /// Takes what has arrived, at most a burst, and answers what is a question.
  void poll();

  /// poll(), and what was said of others' addresses is told.
  std::vector<NeighborEntry> listen();

  /// For whoever takes the port's frames itself: a question's answer is kept until send_answers().
  void answer(wire::Bytes frame);
  void send_answers() noexcept;

  /// Sends a frame of ours.
  void send(wire::Bytes frame) noexcept;

 private:
  template <class Seen>
  void take(Seen&& seen);

  friend class NeighborTable;

  nic::Port& port_;
  bool polls_ = true;
  ArpResponder presence_;
  TxBurst sender_;
  std::array<rte_mbuf*, TxBurst::kBurst> buffers_{};
  std::vector<std::byte> answer_;
};

/// The stations of a run: flow i's source is an address of port i modulo the ports.
class NeighborTable {
 public:
  /// Ports on a network (a Linux interface, a PCI device) are stations; others (memif, files) only
  /// where the profile has `[presence]` or a flow that asks for its next hop: nobody would ask.
  NeighborTable(const config::FlowProfile& profile, std::span<nic::Port> ports,
                const nic::Pool& pool);

  /// Puts the next hop's MAC address into every flow that wants it. Asks three times, a second
  /// apart. Errors (environment): nobody answered, with who was asked from where.
  Result<void> resolve(config::FlowProfile& profile, const Limits& limits);

  /// Looks at the stations' ports once a millisecond, whoever calls it how often; one compare in
  /// between.
  void step(Instant now) {
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(1);
    for (const auto& station : stations_) {
      if (station && station->polls_) station->poll();
    }
  }

  /// The station of a port; null where it is silent.
  [[nodiscard]] ResponderPort* responder_of(const nic::Port& port) noexcept;
  /// A listener takes this port's frames from now on, and hands them to the station.
  void stop_polling(const nic::Port& port) noexcept;

 private:
  std::vector<std::unique_ptr<ResponderPort>> stations_;  // one a port; null: silent
  std::vector<std::string> names_;
  Instant next_{};
};

}  // namespace lw::gen
