// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>

#include "core/error.h"
#include "gen/arp/arp_responder.h"
#include "roce/class_settings.h"
#include "roce/compose.h"
#include "roce/frame.h"
#include "transport/payload_store.h"

namespace lw::gen {

/// Who frames go to: addresses, and the class that the peer's own frames had, or that it asked for.
struct Peer {
  OwnAddress address;
  roce::ClassOfTraffic traffic = {};
};

/// Carries the RoCE frames of an endpoint: a port, or a test. It has one address, encapsulation and
/// class of traffic, like a GID of a NIC. One thread.
class FrameChannel {
 public:
  /// `rocev1`: frames have a GRH in place of IP and UDP.
  FrameChannel(const OwnAddress& own, bool rocev1, const roce::ClassOfTraffic& traffic = {})
      : own_(own), rocev1_(rocev1), traffic_(traffic) {}
  FrameChannel(const FrameChannel&) = delete;
  FrameChannel& operator=(const FrameChannel&) = delete;
  virtual ~FrameChannel() = default;

  /// Receives a burst and calls `on_frame` with each valid frame to the own address. Returns the
  /// number of all frames. Errors: those of the channel.
  virtual Result<std::size_t> receive(const std::function<void(const roce::Frame&)>& on_frame) = 0;
  /// Adds a frame to the burst. The burst is sent when it is full, and by flush().
  virtual void send(const roce::FrameFields& fields, const transport::PayloadView& payload) = 0;
  /// Sends the burst. Errors: those of the channel.
  virtual Result<void> flush() = 0;

  /// Samples what is lost on this machine, about once a second.
  virtual void sample(Instant /*now*/) {}

  [[nodiscard]] const OwnAddress& own() const noexcept { return own_; }
  [[nodiscard]] bool rocev1() const noexcept { return rocev1_; }
  /// The class that was set; where it has no values, frames to a peer have those of the peer.
  [[nodiscard]] const roce::ClassOfTraffic& traffic() const noexcept { return traffic_; }
  [[nodiscard]] roce::ClassOfTraffic traffic_to(const Peer& peer) const noexcept {
    return traffic_.over(peer.traffic);
  }
  /// Returns addresses, encapsulation and class of frames to `peer`, which has the own address
  /// family.
  [[nodiscard]] roce::FrameFields fields_to(const Peer& peer) const;

 private:
  OwnAddress own_;
  bool rocev1_;
  roce::ClassOfTraffic traffic_;
};

/// Returns the source addresses of a frame. Requires a network layer.
OwnAddress sender_of(const roce::Envelope& envelope) noexcept;
/// As sender_of(), with the VLAN tag of the frame as its class: an answer has the same.
Peer peer_of(const roce::Envelope& envelope) noexcept;

}  // namespace lw::gen
