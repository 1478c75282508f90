// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gen/perf/cm/cm_mad.h"
#include "gen/perf/session/endpoint.h"

namespace lw::gen {

/// A client's connection to a responder.
struct Connected {
  Connection* connection = nullptr;
  SessionParams params;
  RemoteMemory remote = {};
  /// The responder is a device. It doesn't fill a slot again after a READ, or clear the slot of a
  /// WRITE, so message n uses slot n % slots.
  bool device = false;
  /// Bytes of the messages, in order, instead of a pattern; empty: the pattern.
  std::span<const std::byte> data = {};
  CmIds ids = {};              // of connection management
  std::uint64_t messages = 0;  // number of posted messages; set before disconnect()
  ServerStats stats = {};      // set by disconnect()
  bool answered = false;       // the responder's stats arrived
  // false: the stats don't include which messages arrived; see handover::Report
  bool counted = true;
};

/// Opens and closes a client's connections to one responder.
class Connector {
 public:
  Connector() = default;
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;
  virtual ~Connector() = default;
  /// Opens `count` connections with these parameters, each with its own address and key. `qp` has
  /// MTU, windows and timeout. Errors: rejected (failed), with the responder's reason; no reply
  /// (environment).
  virtual Result<std::vector<Connected>> connect(const SessionParams& params,
                                                 const transport::QpConfig& qp,
                                                 std::uint32_t count) = 0;
  /// Returns true if the responder is a device: see Connected.
  [[nodiscard]] virtual bool to_device() const noexcept { return false; }
  /// Checks that the responder still exists. Call it at intervals while nothing arrives.
  virtual Result<void> check() { return {}; }
  /// Closes the connections and stores the responder's stats.
  virtual Result<void> disconnect(std::vector<Connected>& connected) = 0;
};

}  // namespace lw::gen
