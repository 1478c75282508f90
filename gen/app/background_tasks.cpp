// SPDX-License-Identifier: BSD-3-Clause
#include "gen/app/background_tasks.h"

#include <algorithm>
#include <sched.h>

#include "nic/clock.h"

namespace lw::gen {

BackgroundTasks::BackgroundTasks(NeighborTable& neighbors, std::span<nic::Port* const> receivers,
                                 Measurement* measurement, ProgressDisplay& display,
                                 FlowNames names)
    : neighbors_(neighbors),
      receivers_(receivers.begin(), receivers.end()),
      measurement_(measurement),
      display_(display),
      names_(std::move(names)) {
  if (measurement == nullptr) return;
  listener_.emplace(*measurement, nullptr);
  for (nic::Port* port : receivers_) neighbors.stop_polling(*port);
}

Result<void> BackgroundTasks::poll() {
  for (nic::Port* port : receivers_) {
    if (auto count = listener_->poll(*port, neighbors_.responder_of(*port)); !count)
      return std::unexpected(count.error());
  }
  return {};
}

Result<void> BackgroundTasks::show(Instant now, const std::vector<FlowCounters>& sent,
                                   std::optional<Duration> left) {
  return display_.show(now, progress_of(names_, &sent, measurement_), left);
}

/// True if no sent frame is missing: then an empty port ends the wait.
bool BackgroundTasks::all_arrived(const std::vector<FlowCounters>& sent) const {
  std::uint64_t left = 0, arrived = 0;
  for (const FlowCounters& flow : sent) left += flow.frames;
  for (const ReceiveFlow& flow : measurement_->flows()) {
    arrived += flow.frames + flow.bad_icrc - std::min(flow.frames, flow.order.duplicated);
  }
  return arrived >= left;
}

Result<void> BackgroundTasks::finish(const std::vector<FlowCounters>& sent, Duration timeout,
                                     const std::atomic<bool>& stop) {
  Instant quiet_since = nic::now();
  while (listener_ && !stop.load(std::memory_order_relaxed)) {
    const std::uint64_t before = listener_->frames();
    const Instant now = nic::now();
    if (auto stepped = step(now, [&]() -> auto& { return sent; }, Duration{0}); !stepped)
      return stepped;
    if (listener_->frames() != before) {
      quiet_since = now;
    } else if (all_arrived(sent) || now - quiet_since >= timeout) {
      break;
    } else {
      sched_yield();
    }
  }
  if (measurement_ != nullptr) measurement_->finalize();
  return display_.finish(nic::now(), progress_of(names_, &sent, measurement_));
}

}  // namespace lw::gen
