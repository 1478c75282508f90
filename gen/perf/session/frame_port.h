// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <functional>

#include "capture/writer.h"
#include "gen/perf/session/frame_channel.h"
#include "gen/tx/ports.h"
#include "gen/tx/tx_burst.h"

namespace lw::gen {

/// Frame counters of an endpoint's port.
struct FramePortCounters {
  std::uint64_t received = 0;  // valid RoCE frames to our address
  std::uint64_t bad_icrc = 0;  // frames to our address with a wrong ICRC
  // of another address, encapsulation or VLAN, or not a valid RoCE frame
  std::uint64_t passed_over = 0;
  std::uint64_t sent = 0;
  std::uint64_t not_sent = 0;  // no buffer, or the port was blocked: counts as lost
};

/// A port as a FrameChannel. Passes on valid RoCEv2 frames to its address, or RoCEv1 frames to its
/// GID. Answers ARP, neighbour discovery and pings, and drops all other frames. With a VLAN in its
/// class it takes only frames of that VLAN; one without a tag is of VLAN 0. `port`, `pool` and
/// `copy` (the capture file; may be null) must outlive it. Errors: those of the capture file.
class FramePort final : public FrameChannel {
 public:
  /// `idle`: what flush() does while the port takes no frame.
  FramePort(nic::Port& port, const nic::Pool& pool, const OwnAddress& own, bool rocev1,
            const roce::ClassOfTraffic& traffic, IdleMode idle, capture::Writer* copy);

  Result<std::size_t> receive(const std::function<void(const roce::Frame&)>& on_frame) override;
  void send(const roce::FrameFields& fields, const transport::PayloadView& payload) override;
  Result<void> flush() override;

  /// Resolves a neighbour's MAC address; sends a request every second. Errors (environment): no
  /// answer within `timeout`, or `stop` was set.
  Result<wire::MacAddress> resolve(const wire::IpAddress& target, Duration timeout,
                                   const std::atomic<bool>& stop);

  void sample(Instant now) override { losses_.sample(now); }
  /// Begins to watch the port's losses.
  void begin_watch(Instant now);
  /// What the port lost since begin_watch().
  [[nodiscard]] std::vector<OwnLoss> losses(Instant now);

  [[nodiscard]] bool link_up() const noexcept { return port_.link_up(); }
  [[nodiscard]] const FramePortCounters& counters() const noexcept { return counters_; }

 private:
  static constexpr std::size_t kBurst = 64;
  void look_at(wire::Bytes bytes, const std::function<void(const roce::Frame&)>& on_frame);
  [[nodiscard]] bool is_ours(const roce::Envelope& envelope) const noexcept;
  [[nodiscard]] bool in_vlan(const roce::Envelope& envelope) const noexcept;
  void keep(wire::Bytes frame);
  void send_raw(wire::Bytes frame);

  nic::Port& port_;
  ArpResponder presence_;
  TxBurst sender_;
  capture::Writer* copy_;
  Result<void> copied_;
  std::array<rte_mbuf*, kBurst> buffers_{};
  std::size_t waiting_ = 0;  // frames in the burst
  std::vector<std::byte> answer_;
  std::optional<NeighborEntry> resolved_;  // the latest answer
  FramePortCounters counters_, before_;    // before_: at begin_watch()
  ReceiveWatch losses_{{&port_}};
};

}  // namespace lw::gen
