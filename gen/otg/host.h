// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gen/otg/plan.h"
#include "gen/otg/port_hub.h"
#include "gen/otg/qp_run.h"
#include "gen/perf/cm/cm_mad.h"
#include "gen/perf/session/endpoint.h"

namespace lw::gen::otg {

/// Messages of connection management of one peer.
struct PeerCounts {
  std::uint64_t connect_request_tx = 0, connect_request_rx = 0;
  std::uint64_t connect_reply_tx = 0, connect_reply_rx = 0;
  std::uint64_t ready_tx = 0, ready_rx = 0;
  std::uint64_t disconnect_request_tx = 0, disconnect_request_rx = 0;
  std::uint64_t disconnect_reply_tx = 0, disconnect_reply_rx = 0;
  std::uint64_t reject_tx = 0, reject_rx = 0, unknown_msg_rx = 0;
};

/// The connection of one QP. The end with the lower address asks for it; both keep it up as long as
/// it is wanted.
struct QpLink {
  enum class State : std::uint8_t {
    down,
    asking,    // a request is out
    answered,  // a reply is out
    up,
    closing,  // a disconnect request is out
  };
  QpRun* run = nullptr;
  State state = State::down;
  bool wanted = false;
  std::uint32_t comm_id = 0;
  CmIds ids = {};       // of the connection
  Instant next{};       // when to repeat the last message
  int repeats = 0;      // of a disconnect request
  MadBytes reply = {};  // of `answered` and `up`: for a repeated request
  std::string refused;  // why the other end refused it
};

/// A host: an endpoint, and the connections of its QPs (IBTA vol. 1, 12.9). One thread.
class LabHost {
 public:
  /// `plan`, `hub` and the runs outlive it; `runs` are those of the host's QPs.
  LabHost(const LabPlan& plan, std::size_t index, PortHub& hub, const std::vector<QpRun*>& runs);
  LabHost(const LabHost&) = delete;
  LabHost& operator=(const LabHost&) = delete;

  /// Connects or disconnects the QPs of a peer.
  void want(std::size_t peer, bool up);
  /// One round: see Endpoint::work(). Requires PortHub::receive() before.
  Result<bool> work(Instant now);
  [[nodiscard]] Duration pause(Instant now) noexcept { return endpoint_.pause(now); }
  /// The MAC address of the next hop to `destination`; nothing while it is not known: then it is
  /// asked for.
  std::optional<wire::MacAddress> next_mac(const wire::IpAddress& destination, Instant now);
  /// No QP is still to be disconnected.
  [[nodiscard]] bool settled() const noexcept;

  [[nodiscard]] HostChannel& channel() noexcept { return channel_; }
  [[nodiscard]] const std::vector<QpLink>& links() const noexcept { return links_; }
  [[nodiscard]] const PeerCounts& counts(std::size_t peer) const { return counts_.at(peer); }

 private:
  [[nodiscard]] bool asks(const QpLink& link) const noexcept;
  [[nodiscard]] wire::IpAddress destination_of(const QpLink& link) const noexcept {
    return plan_.peers[link.run->planned().peer].destination;
  }
  PeerCounts& counts_of(const QpLink& link) { return counts_[link.run->planned().peer]; }
  [[nodiscard]] std::optional<Peer> peer_of_link(const QpLink& link, Instant now);
  [[nodiscard]] wire::IpAddress next_hop(const wire::IpAddress& destination) const noexcept;
  QpLink* find(std::uint32_t comm_id, const wire::IpAddress& from) noexcept;

  void advance(QpLink& link, Instant now);
  void ask(QpLink& link, const Peer& peer);
  void ask_to_close(QpLink& link, const Peer& peer);
  void close(QpLink& link);

  void note_unknown(const Peer& from);
  void on_management(const roce::Frame& frame);
  void on_message(QpLink& link, wire::Bytes mad, const CmHeading& heading, const Peer& from);
  void on_request(wire::Bytes mad, const CmHeading& heading, const Peer& from);
  void on_reply(QpLink& link, wire::Bytes mad, const CmHeading& heading, const Peer& from);
  void on_close(QpLink& link, const CmHeading& heading, const Peer& from);
  [[nodiscard]] std::string refusal_of(const QpLink& link, const ConnectRequest& request,
                                       const QpOffer& offer) const;
  void reject(QpLink& link, const CmHeading& heading, const std::string& why, const Peer& to);
  void answer(QpLink& link, const ConnectRequest& request, const QpOffer& offer,
              std::uint64_t transaction, const Peer& from);
  void send(const MadBytes& mad, const Peer& to) { endpoint_.send_management(mad, to); }

  const LabPlan& plan_;
  const PlannedHost& host_;
  PortHub& hub_;
  HostChannel channel_;
  Endpoint endpoint_;
  std::vector<QpLink> links_;
  std::map<std::size_t, PeerCounts> counts_;  // by peer
};

}  // namespace lw::gen::otg
