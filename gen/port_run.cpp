// SPDX-License-Identifier: BSD-3-Clause
#include "gen/port_run.h"

#include "gen/send_loop.h"
#include "gen/waiting.h"
#include "nic/clock.h"

namespace lw::gen {

Result<RunReport> run_through_ports(const PortRun& run, RunCompanion& companion) {
  Scheduler scheduler(run.profile, run.seed);
  FrameBudget budget(run.limits.count);
  SendLoop loop(scheduler, run.profile.flows.size(), {}, run.ports, run.buffers, run.limits, budget,
                run.copy);
  const Instant start = nic::now();
  loop.start(start);
  companion.start(start);
  Instant now = start;
  for (; !run.limits.stopped() && !loop.ended(now); now = nic::now()) {
    std::optional<Duration> left;
    if (run.limits.duration) left = *run.limits.duration - (now - start);
    if (auto stepped = companion.step(now, loop.tallies(), left); !stepped) {
      return std::unexpected(stepped.error());
    }
    const Duration ahead = loop.ahead(now);
    if (ahead > Duration{0}) {
      wait_towards(ahead, !companion.listens());
    } else if (auto sent = loop.send_due(now); !sent) {
      return std::unexpected(sent.error());
    }
  }
  RunReport report;
  report.elapsed = nic::now() - start;
  report.flows = loop.tallies();
  report.audit = std::move(loop.audit());
  return report;
}

}  // namespace lw::gen
