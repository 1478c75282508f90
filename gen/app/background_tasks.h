// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <optional>
#include <span>

#include "gen/app/receiver.h"
#include "gen/arp/neighbor_table.h"

namespace lw::gen {

/// The work of a run besides sending: answering ARP and neighbour discovery, receiving, and
/// showing progress. The sending loop calls step() in every round; one thread, one clock.
class BackgroundTasks {
 public:
  /// `measurement` may be null: then nothing is received. All arguments but `names` must outlive
  /// this object.
  BackgroundTasks(NeighborTable& neighbors, std::span<nic::Port* const> receivers,
                  Measurement* measurement, ProgressDisplay& display, FlowNames names);

  /// True if frames may arrive at any time, so that the loop must not sleep.
  [[nodiscard]] bool listens() const noexcept { return listener_.has_value(); }

  void start(Instant now) { display_.start(now); }

  /// Runs the tasks that are due. `sent()` returns each flow's counters; it is called only when
  /// progress is shown. `left`: time until the run ends, if known. Errors: the display's.
  template <class Sent>
  Result<void> step(Instant now, Sent sent, std::optional<Duration> left) {
    neighbors_.step(now);
    if (listener_) {
      if (auto polled = poll(); !polled) return polled;
    }
    return display_.due(now) ? show(now, sent(), left) : Result<void>{};
  }

  /// Receives until all signed frames have arrived, or none has for `timeout`, or `stop` is set.
  Result<void> finish(const std::vector<FlowCounters>& sent, Duration timeout,
                      const std::atomic<bool>& stop);

 private:
  Result<void> poll();
  Result<void> show(Instant now, const std::vector<FlowCounters>& sent,
                    std::optional<Duration> left);
  [[nodiscard]] bool all_arrived(const std::vector<FlowCounters>& sent) const;

  NeighborTable& neighbors_;
  std::vector<nic::Port*> receivers_;
  Measurement* measurement_;
  std::optional<Listener> listener_;
  ProgressDisplay& display_;
  FlowNames names_;
};

}  // namespace lw::gen
