// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <functional>

#include "capture/writer.h"
#include "gen/arp/arp_responder.h"
#include "gen/tx/tx_burst.h"
#include "roce/compose.h"
#include "roce/frame.h"

namespace lw::gen {

/// What came and went at an endpoint's port.
struct FramePortCounters {
  std::uint64_t received = 0;     // sound RoCE frames to our address
  std::uint64_t bad_icrc = 0;     // to our address too
  std::uint64_t passed_over = 0;  // somebody else's, or no RoCEv2 frame we can read
  std::uint64_t sent = 0;
  std::uint64_t not_sent = 0;  // no buffer, or the port took none for a while: as if lost
};

/// A port with one address, as an RDMA endpoint has it: sound RoCEv2 frames to that address are
/// handed on, ARP, neighbour discovery and pings are answered, all else is passed over. One
/// thread. `port`, `pool` and `copy` (may be null: nothing is kept) outlive it.
class FramePort {
 public:
  FramePort(nic::Port& port, const nic::Pool& pool, const OwnAddress& own, capture::Writer* copy);

  /// Takes a burst; `take` sees each sound frame in place. How many frames of any kind there were.
  /// Errors: the copy's.
  Result<std::size_t> receive(const std::function<void(const roce::Frame&)>& take);

  /// Composes a frame into the burst, which goes when it is full and with flush().
  void send(const roce::FrameFields& fields, wire::Bytes payload);
  /// Errors: the copy's.
  Result<void> flush();

  /// The MAC address of a neighbour, asked for each second. Errors (environment): nobody answered
  /// in all that time, or `stop` was set.
  Result<wire::MacAddress> resolve(const wire::IpAddress& target, Duration timeout,
                                   const std::atomic<bool>& stop);

  [[nodiscard]] const OwnAddress& own() const noexcept { return own_; }
  [[nodiscard]] const FramePortCounters& counters() const noexcept { return counters_; }

 private:
  static constexpr std::size_t kBurst = 64;
  void look_at(wire::Bytes bytes, const std::function<void(const roce::Frame&)>& take);
  void keep(wire::Bytes frame);
  void send_raw(wire::Bytes frame);

  nic::Port& port_;
  OwnAddress own_;
  ArpResponder presence_;
  TxBurst sender_;
  capture::Writer* copy_;
  Result<void> copied_;
  std::array<rte_mbuf*, kBurst> buffers_{};
  std::size_t waiting_ = 0;  // frames in the burst
  std::vector<std::byte> answer_;
  std::optional<NeighborEntry> told_;  // the latest
  FramePortCounters counters_;
};

/// A frame's addresses and encapsulation: from `own` to `peer`, of one family.
roce::FrameFields fields_between(const OwnAddress& own, const OwnAddress& peer);

/// Who sent a frame; its envelope has a network layer.
OwnAddress sender_of(const roce::Envelope& envelope) noexcept;

}  // namespace lw::gen
