// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/traffic/client_traffic.h"

namespace lw::gen {

/// perftest's client in real time: connects, moves `iterations` messages on each QP, hangs up.
class PerfClient {
 public:
  /// `endpoint`, `stop` (ends a run early) and `series` outlive it.
  PerfClient(Endpoint& endpoint, const ActiveSide::Config& peer, const std::atomic<bool>& stop,
             PerfSeries& series)
      : endpoint_(endpoint), side_(endpoint, peer, stop), stop_(stop), series_(series) {}

  /// As many on their way as the windows of `config` allow. iterations at least 1.
  Result<ClientResult> bandwidth(const sim::PerfConfig& config);
  /// One at a time on one QP: SEND and WRITE as ping-pongs, READ and atomic as they are; with
  /// `read_back` a WRITE and the READ that brings it back.
  Result<ClientResult> latency(const sim::PerfConfig& config);

 private:
  template <class Kind>
  Result<void> move(Kind& traffic);
  template <class Kind>
  Result<ClientResult> run(const sim::PerfConfig& config, const Terms& terms);

  Endpoint& endpoint_;
  ActiveSide side_;
  const std::atomic<bool>& stop_;
  PerfSeries& series_;
};

/// What a client asks for: slots so that a connection's inbox takes no more than 16 MiB (one at
/// least), as deep as the windows.
Terms terms_of(const sim::PerfConfig& config, bool echo) noexcept;

}  // namespace lw::gen
