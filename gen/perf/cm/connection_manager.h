// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>

#include "gen/perf/cm/cm_mad.h"
#include "gen/perf/session/service.h"

namespace lw::gen {

/// A connection as its client has it.
struct Connected {
  Connection* connection = nullptr;
  SessionParams params;
  RemoteMemory remote = {};
  ServerStats stats = {};  // once hung up
  bool answered = false;   // the stats came
};

/// The active side of connection management: opens connections to one responder and ends them.
/// What isn't answered is asked again. (IBTA vol. 1, 12.9.5)
class ActiveSide {
 public:
  struct Config {
    OwnAddress peer;
    std::uint16_t port = 0;
    Duration timeout{};  // for all answers together
  };
  /// Takes the endpoint's management datagrams. `endpoint` and `stop` outlive it.
  ActiveSide(Endpoint& endpoint, const Config& config, const std::atomic<bool>& stop);
  ActiveSide(const ActiveSide&) = delete;
  ActiveSide& operator=(const ActiveSide&) = delete;
  ~ActiveSide() { endpoint_.on_management = nullptr; }

  /// Opens `count` connections with these params, the address and key of each its own. `qp` gives
  /// MTU, windows and timeout. Errors: refused (failed), with the responder's reason; no answer
  /// (environment).
  Result<std::vector<Connected>> connect(const SessionParams& params, const transport::QpConfig& qp,
                                         std::uint32_t count);
  /// Ends them and takes down what the responder found; without its answer, after a while, too.
  Result<void> disconnect(std::vector<Connected>& connected);

 private:
  /// A question that is open.
  struct Call {
    std::uint32_t comm_id = 0;
    std::uint32_t qpn = 0;
    MadBytes mad{};
    bool done = false;
    Instant next = {};  // when to ask again
    ConnectReply reply = {};
  };
  void on_management(const roce::Frame& frame);
  void take(Call& call, const CmHeading& heading, wire::Bytes mad);
  /// Until each call is done, or timeout is out, or one is refused.
  Result<void> run();
  [[nodiscard]] bool all_done() const noexcept;
  Call request(const SessionParams& params, const transport::QpConfig& qp);
  Connected connect(const Call& call, const SessionParams& params, transport::QpConfig qp);

  Endpoint& endpoint_;
  Config config_;
  const std::atomic<bool>& stop_;
  std::uint32_t next_comm_id_;
  std::vector<Call> calls_;
  std::map<std::uint32_t, ServerStats> stats_;  // by comm id
  std::map<std::uint32_t, CmIds> ids_;          // of open connections, by QP number
  std::optional<std::string> refused_;
};

/// What a session was: all connections from the first that opened to the last that closed.
struct SessionReport {
  std::uint64_t connections = 0;
  std::uint64_t bytes = 0;  // that arrived in SENDs and WRITEs
  ServerStats stats;
  std::uint64_t broken = 0;  // connections whose QP went into the error state
  std::uint64_t gone = 0;    // closed because nothing came any more
};

/// The passive side of connection management (IBTA vol. 1, 12.9.6): accepts whoever asks with
/// perf's params, answers what is asked again as before, and ends what the peer ends.
class PassiveSide {
 public:
  struct Config {
    std::uint16_t port = 0;
    std::uint64_t memory = 0;           // bytes that all connections together may have
    Duration gone{};                    // a connection of which nothing came for so long is over
    transport::DcqcnConfig dcqcn = {};  // of the connections whose params ask for it
  };
  /// Takes the endpoint's management datagrams. It outlives this.
  PassiveSide(Endpoint& endpoint, const Config& config);
  PassiveSide(const PassiveSide&) = delete;
  PassiveSide& operator=(const PassiveSide&) = delete;
  ~PassiveSide() { endpoint_.on_management = nullptr; }

  /// Ends what is gone; now and then.
  void sweep(Instant now);
  [[nodiscard]] std::size_t open() const noexcept { return connections_.size(); }
  /// The finished sessions, oldest first, are the caller's to take off.
  std::deque<SessionReport> sessions;
  /// The report of the open one, where there is one.
  void finish();

 private:
  /// Who asked: address and name of the connection there.
  using PeerId = std::pair<wire::IpAddress, std::uint32_t>;
  struct Served {
    std::unique_ptr<Service> service;
    std::uint32_t qpn = 0;
    MadBytes reply{};  // that accepted
  };

  void on_management(const roce::Frame& frame);
  void accept(wire::Bytes mad, const CmHeading& heading, const OwnAddress& peer);
  [[nodiscard]] std::string why_not(const std::optional<ConnectRequest>& request) const;
  void open(const ConnectRequest& request, const SessionParams& params, std::uint64_t transaction,
            const OwnAddress& peer);
  void end(const CmHeading& heading, const OwnAddress& peer);
  void close(std::map<PeerId, Served>::iterator served, bool gone);

  Endpoint& endpoint_;
  Config config_;
  std::map<PeerId, Served> connections_;
  std::map<PeerId, MadBytes> dreps_;  // to those that ended
  std::deque<PeerId> ended_;          // in order: the oldest is forgotten
  std::uint64_t memory_ = 0;
  SessionReport report_;
  Instant swept_;
};

}  // namespace lw::gen
