// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/core_run.h"

#include "gen/tx/idle.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

constexpr Duration kPublishEvery = std::chrono::milliseconds(100);

}  // namespace

CoreRun::CoreRun(const PortRun& run, CoreShare share, FrameBudget& budget)
    : limits_(run.limits),
      share_(share),
      profile_(flows_of(run.profile, share)),
      scheduler_(profile_, run.seed),
      loop_(scheduler_, profile_.flows.size(), share, run.ports, run.buffers, run.limits, budget,
            run.copy),
      published_(profile_.flows.size()) {}

void CoreRun::go(Instant start, const std::atomic<bool>& cancelled) {
  loop_.start(start);
  for (Instant now = start; !loop_.ended(now);) {
    if (limits_.stopped() || cancelled.load(std::memory_order_relaxed)) break;
    publish(now);
    const Duration ahead = loop_.ahead(now);
    if (ahead > Duration{0}) {
      idle_towards(ahead);
      now = nic::now();
      continue;
    }
    // A copy's error ends it; only the first core, which doesn't run here, keeps one.
    if (!loop_.send_due(now)) break;
    now = loop_.after_sending();
  }
}

void CoreRun::publish(Instant now) {
  if (now < next_publish_) return;
  next_publish_ = now + kPublishEvery;
  const std::lock_guard lock(mutex_);
  published_ = loop_.tallies();
}

void CoreRun::put_published(std::vector<FlowTally>& flows) {
  const std::lock_guard lock(mutex_);
  put(published_, flows);
}

void CoreRun::put(const std::vector<FlowTally>& own, std::vector<FlowTally>& flows) const {
  for (std::size_t i = 0; i < own.size(); ++i) flows[share_.flow(i)] = own[i];
}

}  // namespace lw::gen
