// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "gen/endpoint/bandwidth_run.h"
#include "gen/endpoint/server_session.h"

/// Runs both ways: each direction has QPs of its own, and its sender is a ClientSession on either
/// side. The second direction begins by a Hello of the server; see handover.h.
namespace lw::gen::endpoint {

/// The server's messages to a client. One thread; `device` and `link` must outlive it.
class BackRun {
 public:
  /// Agrees with the client, and posts the first messages. `own`: the address of this side.
  /// Errors: a limit of the device, no answer of the client.
  static Result<std::unique_ptr<BackRun>> begin(const Device& device, const handover::Hello& client,
                                                const wire::IpAddress& own, handover::Link& link,
                                                const std::atomic<bool>& stop);

  /// Takes completions and posts more; sends Done when all are complete. Returns true if there was
  /// anything to do. Errors (failed): a request that completed in error; the client is gone.
  Result<bool> step();
  /// Posts no more messages.
  void end() noexcept { ended_ = true; }
  /// Takes the client's report. Errors (failed): not a report, or a failure in it.
  Result<void> take_report(std::string_view line);
  /// Returns true if the client has reported.
  [[nodiscard]] bool reported() const noexcept { return reported_; }

  [[nodiscard]] std::uint64_t messages() const noexcept { return outcome_.bandwidth.messages; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return outcome_.bandwidth.bytes; }
  /// Messages with wrong bytes: those that this side has fetched.
  [[nodiscard]] std::uint64_t wrong() const noexcept { return outcome_.wrong; }

 private:
  BackRun(const Device& device, const handover::Hello& client, handover::Link& link);

  handover::Link& link_;
  std::atomic<bool> ended_{false};
  VerbsClientOptions options_;
  perf::PerfConfig config_;
  PerfOutcome outcome_;
  ClientSession session_;
  std::optional<BandwidthRun> run_;
  bool done_ = false, reported_ = false;
};

/// Runs the client's side: sends the messages of `session`, which is open, and receives those of
/// the server; adds the results of both directions to `outcome`. Errors (failed): those of
/// BandwidthRun; the server asks for more than the client; a message did not arrive.
Result<void> run_both_ways(const Device& device, ClientSession& session, PerfOutcome& outcome);

}  // namespace lw::gen::endpoint
