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

/// Frame counters of an endpoint's port.
struct FramePortCounters {
  std::uint64_t received = 0;     // valid RoCE frames to our address
  std::uint64_t bad_icrc = 0;     // frames to our address with a wrong ICRC
  std::uint64_t passed_over = 0;  // other address or encapsulation, or not a valid RoCE frame
  std::uint64_t sent = 0;
  std::uint64_t not_sent = 0;  // no buffer, or the port was blocked: counts as lost
};

/// A port with one address and encapsulation, like a GID of a NIC. Passes on valid RoCEv2 frames to
/// that address, or RoCEv1 frames to its GID. Answers ARP, neighbour discovery and pings, and drops
/// all other frames. One thread. `port`, `pool` and `copy` (the capture file; may be null) must
/// outlive it.
class FramePort {
 public:
  FramePort(nic::Port& port, const nic::Pool& pool, const OwnAddress& own, bool rocev1,
            capture::Writer* copy);

  /// Receives a burst and calls `take` with each valid frame. Returns the number of all frames.
  /// Errors: those of the capture file.
  Result<std::size_t> receive(const std::function<void(const roce::Frame&)>& take);

  /// Adds a frame to the burst. The burst is sent when it is full, and by flush().
  void send(const roce::FrameFields& fields, wire::Bytes payload);
  /// Sends the burst. Errors: those of the capture file.
  Result<void> flush();

  /// Resolves a neighbour's MAC address; sends a request every second. Errors (environment): no
  /// answer within `timeout`, or `stop` was set.
  Result<wire::MacAddress> resolve(const wire::IpAddress& target, Duration timeout,
                                   const std::atomic<bool>& stop);

  [[nodiscard]] const OwnAddress& own() const noexcept { return own_; }
  [[nodiscard]] bool link_up() const noexcept { return port_.link_up(); }
  [[nodiscard]] bool rocev1() const noexcept { return rocev1_; }
  /// Returns the addresses and encapsulation of frames to `peer`, which has the own address family.
  [[nodiscard]] roce::FrameFields fields_to(const OwnAddress& peer) const;
  [[nodiscard]] const FramePortCounters& counters() const noexcept { return counters_; }

 private:
  static constexpr std::size_t kBurst = 64;
  void look_at(wire::Bytes bytes, const std::function<void(const roce::Frame&)>& take);
  [[nodiscard]] bool is_ours(const roce::Envelope& envelope) const noexcept;
  void keep(wire::Bytes frame);
  void send_raw(wire::Bytes frame);

  nic::Port& port_;
  OwnAddress own_;
  bool rocev1_;
  ArpResponder presence_;
  TxBurst sender_;
  capture::Writer* copy_;
  Result<void> copied_;
  std::array<rte_mbuf*, kBurst> buffers_{};
  std::size_t waiting_ = 0;  // frames in the burst
  std::vector<std::byte> answer_;
  std::optional<NeighborEntry> resolved_;  // the latest answer
  FramePortCounters counters_;
};

/// Returns the source addresses of a frame. Requires a network layer.
OwnAddress sender_of(const roce::Envelope& envelope) noexcept;

}  // namespace lw::gen
