// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gen/endpoint/server_session.h"

namespace lw::gen::endpoint {

/// Result of a finished session.
struct SessionEnd {
  wire::IpAddress peer;
  handover::Hello hello;
  handover::Report report;
  double seconds = 0, cpu_share = 0;  // cpu_share: of one core
  std::optional<RingCounts> ring = {};
  // In a run both ways: the messages that this side has sent, or fetched.
  std::optional<std::uint64_t> sent_messages = {}, sent_bytes = {};
  std::unique_ptr<SignedMessages> signatures = {};  // null if they were not read
};

/// Functions that a running server calls.
struct ServeEvents {
  std::function<void(std::uint16_t port, const Device& device)> ready;  // clients may connect
  std::function<void(const SessionEnd&)> ended;
  std::function<void(const std::string& who_and_why)> refused;
};

/// Serves clients until `stop` is set, or the number of sessions is reached. Errors: those of the
/// device, the region and the TCP port.
Result<void> serve(const ServeOptions& options, const std::atomic<bool>& stop,
                   const ServeEvents& events);

}  // namespace lw::gen::endpoint
