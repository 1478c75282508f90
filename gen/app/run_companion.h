// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>

#include "gen/arp/neighbor_table.h"
#include "gen/receive/listener.h"
#include "gen/report/run_report.h"
#include "gen/stats/watch.h"

namespace lw::gen {

/// What goes on beside sending: neighbours who ask, ports that are listened to, and people who
/// watch. The sending loop
/// calls step() whenever it goes round; one thread, one clock.
class RunCompanion {
 public:
  /// `measurement` may be null: nothing is received then. All outlive the companion.
  RunCompanion(NeighborTable& neighbourhood, std::span<nic::Port* const> receivers,
               Measurement* measurement, Watch& watch, FlowNames names);

  /// Whether frames may come at any time, so that the loop must not sleep.
  [[nodiscard]] bool listens() const noexcept { return listener_.has_value(); }

  void start(Instant now) { watch_.start(now); }

  /// `sent()` is what each flow has sent by now; it is asked only when somebody wants to see it.
  /// `left` is until the run ends, where that is known.
  template <class Sent>
  Result<void> step(Instant now, Sent sent, std::optional<Duration> left) {
    neighbourhood_.step(now);
    if (listener_) {
      if (auto polled = poll(); !polled) return polled;
    }
    return watch_.due(now) ? show(now, sent(), left) : Result<void>{};
  }

  /// Listens on until all signed frames have come, or none has for `patience`.
  Result<void> finish(const std::vector<FlowTally>& sent, Duration patience,
                      const std::atomic<bool>& stop);

 private:
  Result<void> poll();
  Result<void> show(Instant now, const std::vector<FlowTally>& sent, std::optional<Duration> left);
  [[nodiscard]] bool all_came(const std::vector<FlowTally>& sent) const;

  NeighborTable& neighbourhood_;
  std::vector<nic::Port*> receivers_;
  Measurement* measurement_;
  std::optional<Listener> listener_;
  Watch& watch_;
  FlowNames names_;
};

}  // namespace lw::gen
