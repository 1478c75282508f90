// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>

#include "gen/perf/cm/cm_mad.h"
#include "gen/perf/cm/connected.h"
#include "gen/perf/cm/rping.h"

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
  /// Gives up at the timeout if there is no reply.
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
  };
  void on_management(const roce::Frame& frame);
  void take(Call& call, const CmHeading& heading, wire::Bytes mad);
  /// Runs until all calls are done, the timeout expires, or one is rejected.
  Result<void> run();
  [[nodiscard]] bool all_done() const noexcept;
  Call request(const SessionParams& params, const transport::QpConfig& qp);
  Connected connect(const Call& call, const SessionParams& params, transport::QpConfig qp);

  Endpoint& endpoint_;
  Config config_;
  const std::atomic<bool>& stop_;
  std::uint32_t next_comm_id_;
  std::vector<Call> calls_;
  std::map<std::uint32_t, ServerStats> stats_;  // by communication id
  std::map<std::uint32_t, CmIds> ids_;          // of open connections, by QP number
  std::optional<std::string> refused_;
};

/// Report of a session. A session begins when the first connection opens, and ends when none is
/// open.
struct SessionReport {
  std::uint64_t connections = 0;
  std::uint64_t bytes = 0;  // received in SENDs and WRITEs
  ServerStats stats;
  std::uint64_t broken = 0;  // connections whose QP went into the error state
  std::uint64_t gone = 0;    // closed because no packet arrived any more
};

/// The passive side of connection management (IBTA vol. 1, 12.9.6). Accepts requests with the
/// parameters of perf or of rping, repeats its reply to a repeated request, and closes a connection
/// when the peer closes it.
class PassiveSide {
 public:
  struct Config {
    std::uint16_t port = 0;             // port of perf
    std::uint16_t rping_port = 0;       // port for clients of rping; 0: none
    std::uint64_t memory = 0;           // bytes, limit for all connections together
    Duration gone{};                    // closes a connection without packets for this time
    transport::DcqcnConfig dcqcn = {};  // of connections that use DCQCN
  };
  /// Handles the endpoint's management datagrams. `endpoint` outlives it.
  PassiveSide(Endpoint& endpoint, const Config& config);
  PassiveSide(const PassiveSide&) = delete;
  PassiveSide& operator=(const PassiveSide&) = delete;
  ~PassiveSide() { endpoint_.on_management = nullptr; }

  /// Closes connections without packets. At most once a second.
  void sweep(Instant now);
  [[nodiscard]] std::size_t open() const noexcept { return connections_.size(); }
  /// Finished sessions, oldest first. The caller removes them.
  std::deque<SessionReport> sessions;
  /// Closes all connections, which ends the session.
  void finish();

 private:
  /// Address of a peer, and its id of the connection.
  using PeerId = std::pair<wire::IpAddress, std::uint32_t>;
  struct Served {
    std::unique_ptr<Service> service;
    std::uint32_t qpn = 0;
    MadBytes reply{};  // the ConnectReply that was sent
  };

  void on_management(const roce::Frame& frame);
  void accept(wire::Bytes mad, const CmHeading& heading, const OwnAddress& peer);
  [[nodiscard]] bool is_rping(const ConnectRequest& request) const noexcept {
    return config_.rping_port != 0 && request.port == config_.rping_port;
  }
  [[nodiscard]] std::optional<SessionParams> params_of(const ConnectRequest& request) const;
  /// Returns the ports for an error message: "port 18515 is".
  [[nodiscard]] std::string ports() const;
  [[nodiscard]] std::string why_not(const std::optional<ConnectRequest>& request) const;
  void open(const ConnectRequest& request, const SessionParams& params, std::uint64_t transaction,
            const OwnAddress& peer);
  void end(const CmHeading& heading, const OwnAddress& peer);
  void close(std::map<PeerId, Served>::iterator served, bool gone);

  Endpoint& endpoint_;
  Config config_;
  std::map<PeerId, Served> connections_;
  std::map<PeerId, MadBytes> dreps_;  // of closed connections
  std::deque<PeerId> ended_;          // oldest first: it is forgotten first
  std::uint64_t memory_ = 0;
  SessionReport report_;
  Instant swept_;
};

}  // namespace lw::gen
