// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>

#include "gen/perf/cm/cm_mad.h"
#include "gen/perf/cm/connected.h"
#include "gen/perf/cm/half_open.h"
#include "gen/perf/cm/rping.h"
#include "gen/perf/options/endpoint_options.h"

namespace lw::gen {

/// The active side of connection management: opens and closes connections to one responder. Repeats
/// requests that get no reply. (IBTA vol. 1, 12.9.5)
class ActiveSide final : public Connector {
 public:
  struct Config {
    OwnAddress peer;
    std::uint16_t port = 0;
    Duration timeout{};  // for all replies together
  };
  /// Handles the endpoint's management datagrams. `endpoint` and `stop` outlive it.
  ActiveSide(Endpoint& endpoint, const Config& config, const std::atomic<bool>& stop);
  ActiveSide(const ActiveSide&) = delete;
  ActiveSide& operator=(const ActiveSide&) = delete;
  ~ActiveSide() override { endpoint_.on_management = nullptr; }

  Result<std::vector<Connected>> connect(const SessionParams& params, const transport::QpConfig& qp,
                                         std::uint32_t count) override;
  /// Errors (failed): the responder has refused a connection since, with its reason.
  Result<void> check() override;
  /// Answers the responder's own READs and atomics until it replies. Gives up if nothing comes for
  /// the timeout.
  Result<void> disconnect(std::vector<Connected>& connected) override;

 private:
  /// A request and its reply.
  struct Call {
    std::uint32_t comm_id = 0;
    std::uint32_t qpn = 0;
    MadBytes mad{};
    bool done = false;
    Instant next = {};  // when to repeat it
    ConnectReply reply = {};
    std::optional<ServerStats> stats = {};  // of a disconnection
  };
  void on_management(const roce::Frame& frame);
  void handle_answer(Call& call, const CmHeading& heading, wire::Bytes mad);
  /// Runs until all calls are done, one is rejected, or neither an answer nor a packet of their
  /// connections has come for the timeout.
  Result<void> run();
  [[nodiscard]] Instant last_heard() const noexcept;
  [[nodiscard]] bool all_done() const noexcept;
  Call request(const SessionParams& params, const transport::QpConfig& qp);
  Connected connect(const Call& call, const SessionParams& params, transport::QpConfig qp);

  Endpoint& endpoint_;
  Config config_;
  const std::atomic<bool>& stop_;
  std::uint32_t next_comm_id_;
  std::vector<Call> calls_;
  std::optional<std::string> refused_;
};

/// Report of a session. A session begins when the first connection opens, and ends when none is
/// open.
struct SessionReport {
  std::uint64_t connections = 0;
  std::uint64_t bytes = 0;  // received in SENDs and WRITEs
  ServerStats stats;
  std::uint64_t compared = 0;  // messages of which each byte was compared
  std::uint64_t broken = 0;    // connections whose QP went into the error state
  std::uint64_t gone = 0;      // closed because no packet arrived any more
};

/// The passive side of connection management (IBTA vol. 1, 12.9.6). Replies to requests with the
/// parameters of perf or of rping, repeats its reply to a repeated request, opens a connection when
/// the client confirms it (by a ReadyToUse or by its first packet), and closes it when the peer
/// closes it.
///
/// All that open connections need fits in Config::memory; a request for more is rejected, and so is
/// a confirmation that comes when others have taken the memory.
class PassiveSide {
 public:
  struct Config {
    std::uint16_t port = 0;        // port of perf
    std::uint16_t rping_port = 0;  // port for clients of rping; 0: none
    std::uint64_t memory = 0;      // bytes, limit for all connections together
    std::uint32_t packet_payload = kUsualPacketPayload;  // most of a packet, in bytes
    transport::DcqcnConfig dcqcn = {};  // its notification point is that of all connections
  };
  /// Handles the endpoint's management datagrams and the first packets of its connections.
  /// `endpoint` outlives it.
  PassiveSide(Endpoint& endpoint, const Config& config);
  PassiveSide(const PassiveSide&) = delete;
  PassiveSide& operator=(const PassiveSide&) = delete;
  ~PassiveSide() { endpoint_.on_management = endpoint_.on_unknown_qp = nullptr; }

  /// At most once a millisecond, closes the connections whose client waits for the end of the own
  /// requests. At most once a second, closes connections without packets, and forgets requests that
  /// were not confirmed.
  void sweep(Instant now);
  [[nodiscard]] std::size_t open() const noexcept { return connections_.size(); }
  [[nodiscard]] std::size_t half_open() const noexcept { return half_open_.size(); }
  /// Memory that the open connections may need, in bytes.
  [[nodiscard]] std::uint64_t memory() const noexcept { return memory_; }
  /// Finished sessions, oldest first. The caller removes them.
  std::deque<SessionReport> sessions;
  /// Closes all connections, which ends the session.
  void finish();

 private:
  struct Served {
    std::unique_ptr<Service> service;
    std::uint32_t qpn = 0;
    std::uint64_t memory = 0;  // bytes
    MadBytes reply{};          // the ConnectReply that was sent
    Peer peer = {};
    std::optional<CmHeading> dreq = {};  // its client's, while own requests are outstanding
  };

  void on_management(const roce::Frame& frame);
  void accept(wire::Bytes mad, const CmHeading& heading, const Peer& peer);
  [[nodiscard]] bool is_rping(const ConnectRequest& request) const noexcept {
    return config_.rping_port != 0 && request.port == config_.rping_port;
  }
  [[nodiscard]] Parsed<SessionParams> params_of(const ConnectRequest& request) const;
  /// Returns the ports for an error message: "port 18515 is".
  [[nodiscard]] std::string ports() const;
  /// Checks a request. The error is the reason for rejecting it.
  [[nodiscard]] Parsed<SessionParams> check(const ConnectRequest& request) const;
  /// Error: there is no room for another connection of `cost` bytes.
  [[nodiscard]] Parsed<void> check_room(std::uint64_t cost) const;
  void reply(const ConnectRequest& request, const SessionParams& params, std::uint64_t transaction,
             const Peer& peer);
  void reject(std::uint64_t transaction, const CmIds& ids, const std::string& why,
              const Peer& peer);
  /// Opens the connection, or rejects it. `confirmed` is no longer valid afterwards.
  static Connection::Region region_of(const HalfOpen& opened);
  void open(const HalfOpen& confirmed);
  void end(const CmHeading& heading, const Peer& peer);
  void hold(Served& served, const CmHeading& dreq) noexcept;
  void end_held();
  void remember_end(const PeerId& id, const MadBytes& drep);
  void close(std::map<PeerId, Served>::iterator served, bool gone);

  Endpoint& endpoint_;
  Config config_;
  HalfOpenConnections half_open_;
  std::map<PeerId, Served> connections_;
  std::map<PeerId, MadBytes> dreps_;  // of closed connections
  std::deque<PeerId> ended_;          // oldest first: it is forgotten first
  std::uint64_t memory_ = 0;
  std::size_t held_ = 0;  // connections with a DREQ
  Instant held_checked_;
  SessionReport report_;
  Instant swept_;
};

}  // namespace lw::gen
