// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gen/perf/session/endpoint.h"

namespace lw::gen {

/// A client's connection to a responder.
struct Connected {
  Connection* connection = nullptr;
  SessionParams params;
  RemoteMemory remote = {};
  /// The responder is a device: nobody there fills a slot again after a READ, or empties the slot
  /// of a WRITE, so message n has slot n % slots.
  bool device = false;
  /// Bytes that the messages carry, in their order, in place of a pattern; empty: the pattern.
  std::span<const std::byte> data = {};
  std::uint64_t messages = 0;  // posted; before disconnect()
  ServerStats stats = {};      // after disconnect()
  bool answered = false;       // the responder's stats arrived
  bool counted = true;         // they say which messages arrived: see handover::Report
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
  /// Whether the responder is a device: see Connected.
  [[nodiscard]] virtual bool to_device() const noexcept { return false; }
  /// Whether the responder is still there. Called now and then while nothing arrives.
  virtual Result<void> check() { return {}; }
  /// Closes them and stores the responder's stats.
  virtual Result<void> disconnect(std::vector<Connected>& connected) = 0;
};

}  // namespace lw::gen
