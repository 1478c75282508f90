// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "core/idle_mode.h"
#include "gen/perf/session/frame_port.h"
#include "gen/perf/session/session_params.h"
#include "transport/queue_pair.h"

namespace lw::gen {

class Connection;
class Ports;
struct EndpointOptions;

/// What runs on a connection: told of each completion and arrival, and may post more from there.
class Application {
 public:
  virtual ~Application() = default;
  virtual void on_completion(Connection& connection, const transport::Completion& done) = 0;
};

/// One end of a connection: a QP, a region of real memory of its own, and what all its
/// frames have alike.
class Connection {
 public:
  /// `store` outlives it. The region begins at MemoryLayout::va_of(config.qpn).
  Connection(const transport::QpConfig& config, std::uint64_t region, const OwnAddress& own,
             const OwnAddress& peer, transport::PayloadStore& store);

  [[nodiscard]] transport::Memory& memory() noexcept { return memory_; }
  [[nodiscard]] transport::QueuePair& pair() noexcept { return pair_; }
  [[nodiscard]] const transport::QueuePair& pair() const noexcept { return pair_; }
  [[nodiscard]] const OwnAddress& peer() const noexcept { return peer_; }
  [[nodiscard]] std::uint32_t qpn() const noexcept { return pair_.config().qpn; }
  /// When a packet came last; when the connection was made, before the first.
  [[nodiscard]] Instant heard() const noexcept { return heard_; }
  void run(Application& application) noexcept { application_ = &application; }

 private:
  friend class Endpoint;
  transport::Memory memory_;
  transport::QueuePair pair_;
  OwnAddress peer_;
  roce::FrameFields fields_;
  Application* application_ = nullptr;
  Instant heard_;
  Duration catch_up_;  // how far back next_of() may go
  Instant paced_until_ = transport::kNever;
};

/// RDMA connections over one port, in real time: what lib/sim's hosts are in virtual time. One
/// thread; `port` outlives it.
class Endpoint {
 public:
  /// `idle` is what it does where nothing moves. The kernel wakes the calling thread on time.
  Endpoint(FramePort& port, IdleMode idle);

  /// A QP number that no other connection of this process has had, from 0x11 on.
  std::uint32_t reserve_qpn() noexcept;
  /// config.qpn is a reserved one. The reference is good until remove().
  Connection& add(const transport::QpConfig& config, std::uint64_t region, const OwnAddress& peer);
  void remove(std::uint32_t qpn);
  [[nodiscard]] Connection* find(std::uint32_t qpn) noexcept;
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }

  /// Called with the frame of each connection management datagram.
  std::function<void(const roce::Frame&)> on_management;
  void send_management(wire::Bytes mad, const OwnAddress& peer);

  /// Once round: receives a burst, expires timers, sends what may go, a burst at most; then rests
  /// if nothing moved. Whether anything did. Errors: the port's copy's.
  Result<bool> poll();

  [[nodiscard]] const FramePort& port() const noexcept { return port_; }

 private:
  void take(const roce::Frame& frame, Instant now);
  void tell(Connection& connection);
  void expire(Instant now);
  std::size_t send(Instant now);
  std::size_t send_from(Connection& connection, Instant now, std::size_t most);
  static bool next_of(Connection& connection, Instant now, transport::Packet& packet);
  void rest(Instant now) noexcept;

  FramePort& port_;
  transport::PayloadStore store_;
  std::map<std::uint32_t, std::unique_ptr<Connection>> connections_;  // by QP number
  std::uint32_t last_qpn_ = 0x10;
  std::uint32_t turn_of_ = 0;  // the QP number that sends first
  std::uint32_t mad_psn_ = 0;
  IdleMode idle_;
  std::uint32_t empty_turns_ = 0;
  Instant moved_;
};

/// An endpoint with the port and the capture file that it uses. Opens and closes them in order.
class EndpointContext {
 public:
  /// The link may still be down afterwards. Errors: the port's, the capture file's.
  static Result<std::unique_ptr<EndpointContext>> open(const EndpointOptions& options,
                                                       const OwnAddress& own);
  ~EndpointContext();
  EndpointContext(const EndpointContext&) = delete;
  EndpointContext& operator=(const EndpointContext&) = delete;

  /// Errors (environment): the link is down after `timeout`, or `stop` was set.
  Result<void> wait_link(Duration timeout, const std::atomic<bool>& stop);
  /// Link rate in bit/s, if the port knows it.
  [[nodiscard]] std::optional<double> link_bps() const;
  [[nodiscard]] Endpoint& endpoint() noexcept { return *endpoint_; }
  [[nodiscard]] FramePort& port() noexcept { return *port_; }
  /// Sends what is queued, waits for the port to drain, and completes the capture file.
  Result<void> close();

 private:
  explicit EndpointContext(Ports ports);
  std::optional<capture::Writer> copy_;
  std::unique_ptr<Ports> ports_;
  std::optional<FramePort> port_;
  std::optional<Endpoint> endpoint_;
};

}  // namespace lw::gen
