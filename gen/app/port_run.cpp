// SPDX-License-Identifier: BSD-3-Clause
#include "gen/app/port_run.h"

#include <memory>
#include <mutex>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "gen/tx/tx_loop.h"
#include "nic/clock.h"
#include "nic/idle.h"

namespace lw::gen {
namespace {

/// One core's part of a run: its flows with their own scheduler, and its send queue. It publishes
/// its counters for other threads ten times a second.
class CoreRun {
 public:
  /// `run` and `budget` must outlive it.
  CoreRun(const PortRun& run, CoreShare share, FrameBudget& budget)
      : limits_(run.limits),
        clock_(run.clock),
        share_(share),
        profile_(flows_of(run.profile, share)),
        scheduler_(profile_, run.seed),
        loop_(scheduler_, profile_.flows.size(), share, run.ports, run.buffers, run.limits, budget,
              run.copy),
        published_{.flows = std::vector<FlowCounters>(profile_.flows.size())} {}

  [[nodiscard]] TxLoop& loop() noexcept { return loop_; }

  /// Runs the loop to its end, or until `cancelled`.
  void go(Instant start, const std::atomic<bool>& cancelled) {
    begin(start);
    Instant now = start;
    while (!loop_.ended(now)) {
      if (limits_.stopped() || cancelled.load(std::memory_order_relaxed)) break;
      watch(now);
      follow_clock(now);
      publish(now);
      const Duration ahead = loop_.ahead(now);
      if (ahead > Duration{0}) {
        stalls_.sleeps(std::min(ahead, nic::kLongestSleep));
        nic::wait_towards(ahead);
        now = nic::now();
        continue;
      }
      // Only writing a copy can fail. Only the first core does that, which doesn't run here.
      if (!loop_.send_due(now)) break;
      now = loop_.after_sending();
    }
    end(now);
  }

  void begin(Instant start) {
    loop_.start(start);
    pace_.start(start);
    stalls_.start(start);
  }
  /// Called in each round.
  void watch(Instant now) noexcept {
    stalls_.poll(now);
    if (pace_.due(now)) [[unlikely]]
      pace_.sample(now, loop_.behind(now));
  }
  void sleeps(Duration longest) noexcept { stalls_.sleeps(longest); }
  /// The loop has ended, or was stopped.
  void end(Instant now) noexcept {
    ended_by_ = limits_.stopped() ? EndedBy::signal : loop_.ended_by();
    final_ = pace_.finish(loop_.behind(now));
  }

  /// Reads the clock of the signatures' send times once a millisecond.
  void follow_clock(Instant now) noexcept {
    if (clock_ == nullptr || now < next_clock_) return;
    next_clock_ = now + kClockEvery;
    loop_.set_stamp_offset(clock_->offset());
  }

  /// Adds the published counters to those of the whole run. Any thread.
  void put_published(SentSoFar& sent) {
    const std::lock_guard lock(mutex_);
    put(published_.flows, sent.flows);
    sent.pacing.add(published_.pacing);
  }
  /// The core's pacing errors. The core's thread.
  [[nodiscard]] PacingSoFar pacing(Instant now) noexcept {
    PacingSoFar pacing(loop_.audit().pacing_error);
    pacing.behind = loop_.behind(now);
    return pacing;
  }
  /// Copies the current counters. The core's thread, or any once the core has ended.
  void put_counted(std::vector<FlowCounters>& flows) const { put(loop_.counters(), flows); }
  /// Adds all other counters. Call it after the core has ended.
  void add_to(RunReport& report) {
    report.audit.add(loop_.audit());
    report.pace.add(final_);
    report.machine.stalls.add(stalls_.stalls());
    if (ended_by_ != EndedBy::flows) report.ended_by = ended_by_;
    report.caught_up.skipped = std::max(report.caught_up.skipped, loop_.caught_up().skipped);
    report.caught_up.stalls += loop_.caught_up().stalls;
    for (std::size_t i = 0; i < report.ports.size(); ++i)
      report.ports[i].refused.add(loop_.not_sent()[i]);
  }

 private:
  static constexpr Duration kPublishEvery = std::chrono::milliseconds(100);
  static constexpr Duration kClockEvery = std::chrono::milliseconds(1);

  void put(const std::vector<FlowCounters>& own, std::vector<FlowCounters>& flows) const {
    for (std::size_t i = 0; i < own.size(); ++i) flows[share_.flow(i)] = own[i];
  }
  void publish(Instant now) {
    if (now < next_publish_) return;
    next_publish_ = now + kPublishEvery;
    const std::lock_guard lock(mutex_);
    published_ = {loop_.counters(), pacing(now)};
  }

  const Limits& limits_;
  const nic::StampClock* clock_;
  CoreShare share_;
  config::FlowProfile profile_;
  TxScheduler scheduler_;
  TxLoop loop_;
  Instant next_publish_{}, next_clock_{};
  PaceWatch pace_;
  StallWatch stalls_;
  PaceReport final_;
  EndedBy ended_by_ = EndedBy::flows;
  std::mutex mutex_;
  SentSoFar published_;  // under mutex_
};

/// All cores but the first, each on a DPDK thread.
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
    // Publishes to the threads what was written before. DPDK also does this, but in a library that
    // ThreadSanitizer does not see.
    launched_.store(true, std::memory_order_release);
    for (Core& core : cores_) rte_eal_remote_launch(run_core, &core, lcore_of(core));
  }
  [[nodiscard]] bool busy() const noexcept {
    return finished_.load(std::memory_order_acquire) < cores_.size();
  }
  void join() noexcept {
    cancelled_.store(true, std::memory_order_relaxed);
    for (const Core& core : cores_) rte_eal_wait_lcore(lcore_of(core));
    finished_.load(std::memory_order_acquire);
  }

  void put_published(SentSoFar& sent) {
    for (Core& core : cores_) core.run->put_published(sent);
  }
  void put_counted(RunReport& report) {
    for (Core& core : cores_) {
      core.run->put_counted(report.flows);
      core.run->add_to(report);
    }
  }

 private:
  struct Core {
    std::unique_ptr<CoreRun> run;
    OtherCores* all;
  };
  static int run_core(void* argument) {
    auto& core = *static_cast<Core*>(argument);
    while (!core.all->launched_.load(std::memory_order_acquire)) rte_pause();
    core.run->go(core.all->start_, core.all->cancelled_);
    core.all->finished_.fetch_add(1, std::memory_order_acq_rel);
    return 0;
  }
  /// DPDK numbers its threads from 0, the main thread.
  [[nodiscard]] unsigned lcore_of(const Core& core) const noexcept {
    return static_cast<unsigned>(&core - cores_.data()) + 1;
  }

  std::vector<Core> cores_;
  Instant start_{};
  std::atomic<bool> launched_{false}, cancelled_{false};
  std::atomic<std::size_t> finished_{0};  // cores whose loop has ended
};

/// The first core's loop, with the tasks besides sending.
class MainCore {
 public:
  MainCore(const PortRun& run, FrameBudget& budget, OtherCores& others, BackgroundTasks& background)
      : run_(run),
        own_(run, {0, run.cores}, budget),
        others_(others),
        background_(background),
        sent_{.flows = std::vector<FlowCounters>(run.profile.flows.size())} {}

  /// Works in the background until the start.
  Result<void> wait_for(Instant start) {
    for (Instant now = nic::now(); now < start; now = nic::now()) {
      if (run_.limits.stopped() || background_.interrupted()) break;
      if (auto stepped = background_.step(
              now, [this, now]() -> auto& { return counted(now); }, std::nullopt);
          !stepped)
        return stepped;
      nic::wait_towards(std::min<Duration>(start - now, kPoll), !background_.listens());
    }
    return {};
  }

  Result<void> go(Instant start) {
    own_.begin(start);
    Instant now = start;
    while (!run_.limits.stopped() && !background_.interrupted()) {
      own_.watch(now);
      own_.follow_clock(now);
      const bool ended = own_.loop().ended(now);
      if (ended && !others_.busy()) break;
      std::optional<Duration> left;
      if (run_.limits.duration) left = *run_.limits.duration - (now - start);
      if (auto stepped = background_.step(
              now, [this, now]() -> auto& { return counted(now); }, left);
          !stepped)
        return stepped;
      const Duration ahead = ended ? kPoll : own_.loop().ahead(now);
      if (ahead > Duration{0}) {
        own_.sleeps(std::min(ahead, nic::kLongestSleep));
        nic::wait_towards(ahead, !background_.listens());
        now = nic::now();
        continue;
      }
      if (auto sent = own_.loop().send_due(now); !sent) return sent;
      now = own_.loop().after_sending();
    }
    own_.end(now);
    return {};
  }

  void put_counted(RunReport& report) {
    own_.put_counted(report.flows);
    own_.add_to(report);
  }

 private:
  static constexpr Duration kPoll = std::chrono::milliseconds(1);

  /// Counters of all cores; those of the others are up to 0.1 s old.
  const SentSoFar& counted(Instant now) {
    own_.put_counted(sent_.flows);
    sent_.pacing = own_.pacing(now);
    others_.put_published(sent_);
    return sent_;
  }

  const PortRun& run_;
  CoreRun own_;
  OtherCores& others_;
  BackgroundTasks& background_;
  SentSoFar sent_;
};

/// Adds the frames that the ports took since `before` and lost, and those that they did not take.
void add_losses(RunReport& report, std::span<const nic::Port> ports,
                const std::vector<nic::PortStats>& before) {
  std::vector<std::uint64_t> taken(ports.size());
  for (std::size_t i = 0; i < report.flows.size(); ++i)
    taken[i % taken.size()] += report.flows[i].frames;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    PortLosses& port = report.ports[i];
    port.lost = lost_since(before[i], ports[i], taken[i]);
    report.machine.losses.push_back(not_sent_at(port, taken[i]));
  }
}

}  // namespace

Result<RunReport> run_through_ports(const PortRun& run, BackgroundTasks& background) {
  FrameBudget budget(run.limits.count);
  OtherCores others(run, budget);
  MainCore main(run, budget, others, background);
  std::vector<nic::PortStats> before;
  for (const nic::Port& port : run.ports) before.push_back(port.stats());
  const Instant start = run.start.value_or(nic::now());
  background.start(start);
  if (auto waited = main.wait_for(start); !waited) return std::unexpected(waited.error());
  const Duration late = nic::now() - start;
  others.start(start);
  background.begun();
  if (auto gone = main.go(start); !gone) return std::unexpected(gone.error());
  others.join();
  RunReport report;
  report.elapsed = std::max(nic::now() - start, Duration{0});
  if (run.start) report.started_late = late;
  report.flows.resize(run.profile.flows.size());
  for (const nic::Port& port : run.ports) report.ports.push_back({port.name(), {}, {}});
  report.catch_up = run.limits.catch_up;
  report.interrupted = background.interrupted().value_or("");
  report.duration = run.limits.duration;
  report.count = run.limits.count;
  report.machine.elapsed = report.elapsed;
  main.put_counted(report);
  others.put_counted(report);
  add_losses(report, run.ports, before);
  if (!report.interrupted.empty()) report.ended_by = EndedBy::failure;
  for (std::size_t i = 0; i < report.flows.size(); ++i) {
    const config::Flow& flow = run.profile.flows[i];
    if (report.flows[i].frames > 0) report.flows[i].shared = shared_part(mean_gap(flow), flow.qps);
  }
  return report;
}

}  // namespace lw::gen
