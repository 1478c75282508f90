// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>

#include "gen/perf/session/service.h"

namespace lw::gen {

/// What a session was: all connections from the first that opened to the last that closed.
struct SessionReport {
  std::uint64_t connections = 0;
  std::uint64_t bytes = 0;  // that arrived in SENDs and WRITEs
  Findings findings;
  std::uint64_t broken = 0;  // connections whose QP went into the error state
  std::uint64_t gone = 0;    // closed because nothing came any more
};

/// The passive side of connection management (IBTA vol. 1, 12.9.6): accepts whoever asks with
/// perf's terms, answers what is asked again as before, and ends what the peer ends.
class PassiveSide {
 public:
  struct Config {
    std::uint16_t port = 0;
    std::uint64_t memory = 0;           // bytes that all connections together may have
    Duration gone{};                    // a connection of which nothing came for so long is over
    transport::DcqcnConfig dcqcn = {};  // of the connections whose terms ask for it
  };
  /// Takes the endpoint's management datagrams. It outlives this.
  PassiveSide(Endpoint& endpoint, const Config& config);
  PassiveSide(const PassiveSide&) = delete;
  PassiveSide& operator=(const PassiveSide&) = delete;
  ~PassiveSide() { endpoint_.on_management = nullptr; }

  /// Ends what is gone; now and then.
  void sweep(Instant now);
  [[nodiscard]] std::size_t open() const noexcept { return served_.size(); }
  /// The finished sessions, oldest first, are the caller's to take off.
  std::deque<SessionReport> sessions;
  /// The report of the open one, where there is one.
  void finish();

 private:
  /// Who asked: address and name of the connection there.
  using Asker = std::pair<wire::IpAddress, std::uint32_t>;
  struct Served {
    std::unique_ptr<Service> service;
    std::uint32_t qpn = 0;
    MadBytes reply{};  // that accepted
  };

  void hear(const roce::Frame& frame);
  void accept(wire::Bytes mad, const CmHeading& heading, const OwnAddress& peer);
  [[nodiscard]] std::string why_not(const std::optional<ConnectRequest>& request) const;
  void open(const ConnectRequest& request, const Terms& terms, std::uint64_t transaction,
            const OwnAddress& peer);
  void end(const CmHeading& heading, const OwnAddress& peer);
  void close(std::map<Asker, Served>::iterator served, bool gone);

  Endpoint& endpoint_;
  Config config_;
  std::map<Asker, Served> served_;
  std::map<Asker, MadBytes> farewells_;  // to those that ended
  std::deque<Asker> ended_;              // in order: the oldest is forgotten
  std::uint64_t memory_ = 0;
  SessionReport report_;
  Instant swept_;
};

}  // namespace lw::gen
