// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <list>
#include <map>
#include <utility>

#include "core/time.h"
#include "gen/arp/arp_responder.h"
#include "gen/perf/cm/cm_mad.h"
#include "gen/perf/session/frame_channel.h"

namespace lw::gen {

/// Address of a peer, and its communication id of a connection.
using PeerId = std::pair<wire::IpAddress, std::uint32_t>;

/// A connection that a client has asked for and not yet confirmed.
struct HalfOpen {
  PeerId id;
  Peer peer;  // with the class that the request asks for
  ConnectRequest request;
  SessionParams params;
  std::uint32_t qpn = 0;  // its QP on this side
  MadBytes reply{};       // the ConnectReply that was sent
  Instant heard = {};     // when the client last asked
};

/// Connections that wait for their confirmation, which cost no more than their entry here. Of more
/// than `most`, the one whose client has been silent for longest gives way, so that requests that
/// nobody confirms keep out nobody. One thread.
class HalfOpenConnections {
 public:
  /// Requires `most` >= 1.
  explicit HalfOpenConnections(std::size_t most) : most_(most) {}

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// Return null if there is none. The pointer is valid until the next change.
  [[nodiscard]] const HalfOpen* find(const PeerId& id) const;
  [[nodiscard]] const HalfOpen* find(std::uint32_t qpn) const;

  /// Adds a connection with a new id and QP number.
  void add(HalfOpen added);
  /// Notes that the client has asked again.
  void note_repeated(const HalfOpen& known, Instant now);
  void remove(const HalfOpen& known);
  /// Removes the connections whose clients last asked before `limit`.
  void expire(Instant limit);

 private:
  using Entries = std::list<HalfOpen>;

  Entries entries_;  // longest silent first
  std::map<PeerId, Entries::iterator> by_id_;
  std::map<std::uint32_t, Entries::iterator> by_qpn_;
  std::size_t most_;
};

}  // namespace lw::gen
