// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/writer.h"
#include "gen/arp/arp_responder.h"
#include "gen/otg/plan.h"
#include "gen/perf/session/frame_channel.h"
#include "gen/tx/tx_burst.h"
#include "nic/pool.h"
#include "nic/port.h"

namespace lw::gen::otg {

class HostChannel;

/// Bytes of a frame's check sequence, which ports add.
inline constexpr std::size_t kFcs = 4;

/// Frames of a flow that a port took. Bytes are with FCS.
struct SentFrames {
  std::uint64_t frames = 0, bytes = 0;
};

/// Gets the frames that ports receive before hosts do. Called by the threads of the ports.
class FrameWatch {
 public:
  virtual ~FrameWatch() = default;
  /// Returns whether it has used a frame that arrived at this port; then no host gets it.
  virtual bool count_frame(std::size_t port, wire::Bytes frame) = 0;
};

/// What passed a port. Bytes are with FCS.
struct PortCounts {
  std::uint64_t sent = 0, sent_bytes = 0;
  std::uint64_t received = 0, received_bytes = 0;  // of all frames
  std::uint64_t not_sent = 0;                      // no buffer, or the port took no frame
  std::uint64_t bad_icrc = 0;                      // of frames to an address of the port
};

/// A port with several hosts: sorts the frames that arrive by host, answers ARP, neighbour
/// discovery and pings for all of them, finds neighbours, and captures. One thread.
class PortHub {
 public:
  /// `port` and `pool` outlive it.
  PortHub(nic::Port& port, const nic::Pool& pool);
  ~PortHub();
  PortHub(const PortHub&) = delete;
  PortHub& operator=(const PortHub&) = delete;

  /// Adds a host, which outlives the hub's last receive().
  void add(HostChannel& host);
  /// All hosts are added.
  void complete();

  /// Receives a burst, which the hosts' channels then hand out. Returns the number of frames.
  std::size_t receive();
  /// Releases the burst.
  void release() noexcept;

  void send(const roce::FrameFields& fields, const transport::PayloadView& payload);
  /// Adds a frame of `length` bytes, without FCS, which the caller writes before it calls added().
  /// It counts in `sent`, which may be null and outlives the flush(), when the port takes it.
  /// Returns an empty span if no buffer is free.
  wire::MutableBytes add(std::size_t length, SentFrames* sent);
  void added(wire::Bytes frame);
  void flush();

  /// `watch` gets the frames that arrive, and outlives the hub; `port` is for its count_frame().
  void set_watch(FrameWatch& watch, std::size_t port) noexcept {
    watch_ = &watch;
    watched_port_ = port;
  }

  /// The MAC address of a neighbour; nothing if it has not answered yet.
  [[nodiscard]] std::optional<wire::MacAddress> neighbour(const wire::IpAddress& ip) const;
  /// Asks for the MAC address of `ip`, at most once a second.
  void ask(const HostChannel& host, const wire::IpAddress& ip, Instant now);
  [[nodiscard]] const std::map<wire::IpAddress, wire::MacAddress>& neighbours() const noexcept {
    return neighbours_;
  }

  /// Begins a new capture in `path`. Errors: those of the file.
  Result<void> begin_capture(const std::string& path, const PlannedCapture& capture);
  /// Ends the capture. Errors: those of the file.
  Result<void> end_capture();
  [[nodiscard]] bool captures() const noexcept { return copy_.has_value(); }

  [[nodiscard]] nic::Port& port() noexcept { return port_; }
  [[nodiscard]] const PortCounts& counts() const noexcept { return counts_; }

 private:
  static constexpr std::size_t kBurst = 64;
  void sort(wire::Bytes bytes);
  void keep(wire::Bytes frame);
  void send_raw(wire::Bytes frame);

  nic::Port& port_;
  std::vector<HostChannel*> hosts_;
  std::optional<ArpResponder> presence_;
  TxBurst sender_;
  /// A frame of the burst.
  struct Waiting {
    std::size_t bytes = 0;  // with FCS
    SentFrames* sent = nullptr;
  };
  std::array<Waiting, TxBurst::kFrames> waiting_{};
  std::size_t waiting_count_ = 0;
  FrameWatch* watch_ = nullptr;
  std::size_t watched_port_ = 0;
  std::array<rte_mbuf*, kBurst> buffers_{};
  std::size_t held_ = 0;  // buffers that are not released yet
  std::vector<std::byte> answer_;
  std::map<wire::IpAddress, wire::MacAddress> neighbours_;
  std::map<wire::IpAddress, Instant> asked_;
  std::optional<capture::Writer> copy_;
  Result<void> copied_;
  PortCounts counts_;
};

/// One host of a port as the channel of an endpoint.
class HostChannel final : public FrameChannel {
 public:
  /// `hub` outlives it.
  HostChannel(PortHub& hub, const PlannedHost& host);

  Result<std::size_t> receive(const std::function<void(const roce::Frame&)>& on_frame) override;
  void send(const roce::FrameFields& fields, const transport::PayloadView& payload) override {
    hub_.send(fields, payload);
  }
  Result<void> flush() override {
    hub_.flush();
    return {};
  }
  /// Adds a frame that arrived for this host, until the hub's release().
  void add(const roce::Frame& frame) { frames_.push_back(frame); }

 private:
  PortHub& hub_;
  std::vector<roce::Frame> frames_;
};

}  // namespace lw::gen::otg
