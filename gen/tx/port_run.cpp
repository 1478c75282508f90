// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/port_run.h"

#include <memory>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "gen/tx/core_run.h"
#include "gen/tx/idle.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

/// The cores but the first, each in a thread of DPDK's.
class OtherCores {
 public:
  OtherCores(const PortRun& run, FrameBudget& budget) {
    for (std::uint16_t core = 1; core < run.cores; ++core) {
      cores_.push_back({std::make_unique<CoreRun>(run, CoreShare{core, run.cores}, budget), this});
    }
  }
  OtherCores(const OtherCores&) = delete;
  OtherCores& operator=(const OtherCores&) = delete;
  ~OtherCores() { join(); }

  void start(Instant start) {
    start_ = start;
    for (Core& core : cores_) rte_eal_remote_launch(run_core, &core, lcore_of(core));
  }
  [[nodiscard]] bool busy() const noexcept {
    for (const Core& core : cores_) {
      if (rte_eal_get_lcore_state(lcore_of(core)) == RUNNING) return true;
    }
    return false;
  }
  void join() noexcept {
    cancelled_.store(true, std::memory_order_relaxed);
    for (const Core& core : cores_) rte_eal_wait_lcore(lcore_of(core));
  }

  [[nodiscard]] bool none() const noexcept { return cores_.empty(); }
  void put_published(std::vector<FlowTally>& flows) {
    for (Core& core : cores_) core.run->put_published(flows);
  }
  void put_counted(RunReport& report) {
    for (Core& core : cores_) {
      core.run->put_counted(report.flows);
      report.audit.add(core.run->loop().audit());
    }
  }

 private:
  struct Core {
    std::unique_ptr<CoreRun> run;
    OtherCores* all;
  };
  static int run_core(void* argument) {
    auto& core = *static_cast<Core*>(argument);
    core.run->go(core.all->start_, core.all->cancelled_);
    return 0;
  }
  /// DPDK numbers its threads from 0, the main one.
  [[nodiscard]] unsigned lcore_of(const Core& core) const noexcept {
    return static_cast<unsigned>(&core - cores_.data()) + 1;
  }

  std::vector<Core> cores_;
  Instant start_{};
  std::atomic<bool> cancelled_{false};
};

/// The first core's loop, with what goes on beside sending.
class MainCore {
 public:
  MainCore(const PortRun& run, FrameBudget& budget, OtherCores& others, RunCompanion& companion)
      : run_(run),
        own_(run, {0, run.cores}, budget),
        others_(others),
        companion_(companion),
        flows_(run.profile.flows.size()) {}

  Result<void> go(Instant start) {
    own_.loop().start(start);
    companion_.start(start);
    for (Instant now = start; !run_.limits.stopped();) {
      const bool through = own_.loop().ended(now);
      if (through && !others_.busy()) break;
      std::optional<Duration> left;
      if (run_.limits.duration) left = *run_.limits.duration - (now - start);
      if (auto stepped = companion_.step(
              now, [this]() -> auto& { return counted(); }, left);
          !stepped)
        return stepped;
      const Duration ahead = through ? kLook : own_.loop().ahead(now);
      if (ahead > Duration{0}) {
        idle_towards(ahead, !companion_.listens());
        now = nic::now();
        continue;
      }
      if (auto sent = own_.loop().send_due(now); !sent) return sent;
      now = own_.loop().after_sending();
    }
    return {};
  }

  void put_counted(RunReport& report) {
    own_.put_counted(report.flows);
    report.audit.add(own_.loop().audit());
  }

 private:
  static constexpr Duration kLook = std::chrono::milliseconds(1);

  /// By all cores; the others' up to a tenth of a second ago.
  const std::vector<FlowTally>& counted() {
    own_.put_counted(flows_);
    others_.put_published(flows_);
    return flows_;
  }

  const PortRun& run_;
  CoreRun own_;
  OtherCores& others_;
  RunCompanion& companion_;
  std::vector<FlowTally> flows_;
};

}  // namespace

Result<RunReport> run_through_ports(const PortRun& run, RunCompanion& companion) {
  FrameBudget budget(run.limits.count);
  OtherCores others(run, budget);
  MainCore main(run, budget, others, companion);
  const Instant start = nic::now();
  others.start(start);
  if (auto gone = main.go(start); !gone) return std::unexpected(gone.error());
  others.join();
  RunReport report;
  report.elapsed = nic::now() - start;
  report.flows.resize(run.profile.flows.size());
  main.put_counted(report);
  others.put_counted(report);
  return report;
}

}  // namespace lw::gen
