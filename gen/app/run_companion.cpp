// SPDX-License-Identifier: BSD-3-Clause
#include "gen/app/run_companion.h"

#include <algorithm>
#include <sched.h>

#include "nic/clock.h"

namespace lw::gen {

RunCompanion::RunCompanion(NeighborTable& neighbourhood, std::span<nic::Port* const> receivers,
                           Measurement* measurement, Watch& watch, FlowNames names)
    : neighbourhood_(neighbourhood),
      receivers_(receivers.begin(), receivers.end()),
      measurement_(measurement),
      watch_(watch),
      names_(std::move(names)) {
  if (measurement == nullptr) return;
  listener_.emplace(*measurement, nullptr);
  for (nic::Port* port : receivers_) neighbourhood.stop_polling(*port);
}

Result<void> RunCompanion::poll() {
  for (nic::Port* port : receivers_) {
    if (auto count = listener_->poll(*port, neighbourhood_.responder_of(*port)); !count)
      return std::unexpected(count.error());
  }
  return {};
}

Result<void> RunCompanion::show(Instant now, const std::vector<FlowTally>& sent,
                                std::optional<Duration> left) {
  return watch_.show(now, progress_of(names_, &sent, measurement_), left);
}

/// What an empty port says: nothing is on its way any more that could still be missing.
bool RunCompanion::all_came(const std::vector<FlowTally>& sent) const {
  std::uint64_t left = 0, came = 0;
  for (const FlowTally& tally : sent) left += tally.frames;
  for (const ReceiveFlow& flow : measurement_->flows()) {
    came += flow.frames + flow.bad_icrc - std::min(flow.frames, flow.order.duplicated);
  }
  return came >= left;
}

Result<void> RunCompanion::finish(const std::vector<FlowTally>& sent, Duration patience,
                                  const std::atomic<bool>& stop) {
  Instant quiet_since = nic::now();
  while (listener_ && !stop.load(std::memory_order_relaxed)) {
    const std::uint64_t before = listener_->frames();
    const Instant now = nic::now();
    if (auto stepped = step(now, [&]() -> auto& { return sent; }, Duration{0}); !stepped)
      return stepped;
    if (listener_->frames() != before) {
      quiet_since = now;
    } else if (all_came(sent) || now - quiet_since >= patience) {
      break;
    } else {
      sched_yield();
    }
  }
  if (measurement_ != nullptr) measurement_->settle();
  return watch_.finish(nic::now(), progress_of(names_, &sent, measurement_));
}

}  // namespace lw::gen
