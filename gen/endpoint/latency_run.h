// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "gen/endpoint/client_session.h"

namespace lw::gen::endpoint {

/// Sends one message at a time on the first QP of a session, and measures the time until it is
/// answered: half of it for an echo or a READ of the message, otherwise all.
class LatencyRun {
 public:
  /// The arguments must outlive the object. Results are added to `outcome`.
  LatencyRun(ClientSession& session, PerfOutcome& outcome)
      : session_(session), params_(session.params()), outcome_(outcome) {}

  /// Runs until all messages are answered, or until a signal. Errors (failed): a request that
  /// completed in error, and those of ClientSession::idle().
  Result<void> run();

 private:
  using Flow = ClientSession::Flow;

  Result<bool> ping(Flow& flow);
  Result<void> post_receive(Flow& flow, std::uint64_t number);
  Result<void> post(Flow& flow, std::uint64_t number);
  [[nodiscard]] bool is_right(const Flow& flow, std::uint64_t number) const;
  std::byte await_echo(const Flow& flow, std::uint64_t number);
  Result<bool> wait_for_echo(Flow& flow, std::uint64_t number, std::byte last);
  Result<bool> wait_for_completion(Flow& flow, std::uint64_t number);

  ClientSession& session_;
  const SessionParams& params_;
  PerfOutcome& outcome_;
  std::uint64_t echoes_ = 0;
};

}  // namespace lw::gen::endpoint
