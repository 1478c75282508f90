// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/bump.h"

#include <algorithm>

#include "impair/datapath/second_core.h"
#include "impair/datapath/sizing.h"
#include "impair/report/progress.h"

namespace lw::impair {
namespace {

using emulator::Direction;

// What draining may take beyond the longest delay: the other side may be slow, or gone.
constexpr Duration kDrainMargin = std::chrono::seconds(2);
// Signals are looked at every turn; clocks, files and other threads' wishes every so many.
constexpr unsigned kTurnsBetweenLooks = 64;
// A turn takes microseconds, and a rest some more; what takes longer isn't running.
constexpr Duration kAnswerTimeout = std::chrono::seconds(5);

}  // namespace

Bump::Bump(const config::ImpairProfile& profile, Equipment& equipment, emulator::LedgerSink* ledger)
    : eastward_(equipment.west, equipment.east,
                pipeline_of(profile, Direction::west_to_east, {}, exchange_), link_config(profile),
                ledger),
      westward_(equipment.east, equipment.west,
                pipeline_of(profile, Direction::east_to_west, {}, exchange_), link_config(profile),
                ledger),
      longest_stay_(profile.longest_stay()) {
  eastward_.join(pauses_, equipment.pool.get());
  westward_.join(pauses_, equipment.pool.get());
}

bool Bump::over(Instant now, const RunConfig& config) const noexcept {
  if (config.duration && now - start_ >= *config.duration) return true;
  // Null ports never bring a frame, but there is no end that one could wait for.
  const bool ends = nic::reads_file(config.west) || nic::reads_file(config.east);
  if (ends && eastward_.source_exhausted() && westward_.source_exhausted()) return true;
  const Instant last = std::max(eastward_.last_received(), westward_.last_received());
  return config.until_idle && now - last >= *config.until_idle;
}

void Bump::work(const RunConfig& config, const StopSignal& stop) {
  if (config.cores < 2) return work_alone(config, stop);
  on_two_cores_ = true;
  std::jthread other([&](const std::stop_token& over) { work_westward(config, over); });
  work_alone(config, stop);
  other.request_stop();
  other.join();
  on_two_cores_ = false;
}

void Bump::work_westward(const RunConfig& config, const std::stop_token& over) {
  const SecondCore core(config.second_core);
  Idle idle(config.idle);
  westward_quiesce_.enter();
  while (!over.stop_requested()) {
    westward_quiesce_.pass();
    if (westward_.turn(true)) {
      idle.busy();
    } else {
      idle.rest(nic::now(), westward_.next_work());
    }
  }
  westward_quiesce_.leave();
}

void Bump::work_alone(const RunConfig& config, const StopSignal& stop) {
  Idle idle(config.idle);
  Progress progress(start_);
  for (unsigned turns = 1; !stop.requested().load(std::memory_order_relaxed); ++turns) {
    if (turn(true)) {
      idle.busy();
    } else {
      rest(idle);
    }
    if (turns % kTurnsBetweenLooks != 0) continue;
    serve_others();
    const Instant now = nic::now();
    if (over(now, config)) return;
    progress.tick(now, eastward_, westward_);
  }
}

void Bump::drain(const StopSignal& stop) {
  const Instant give_up = nic::now() + longest_stay_ + kDrainMargin;
  Idle idle(IdleMode::adaptive);
  while (eastward_.link().inside() + westward_.link().inside() > 0) {
    if (stop.forced() || nic::now() >= give_up) break;
    serve_others();
    if (turn(false)) {
      idle.busy();
    } else {
      rest(idle);
    }
  }
  eastward_.abandon();
  westward_.abandon();
  end_ = nic::now();
}

void Bump::report(Report& report) const {
  fill(report, end_, false);
  std::ranges::for_each(report.directions, judge);
}

void Bump::fill(Report& report, Instant now, bool running) const {
  report.seconds = static_cast<double>((now - start_).count()) * 1e-9;
  for (const Way* way : {&eastward_, &westward_})
    report.directions.push_back(
        {running ? way->link().running_accounting() : way->link().accounting(),
         spread_of(way->link().release_error()), spread_of(way->link().pass_latency()),
         stages_of(way->link().pipeline()), events_of(way->link().pipeline())});
}

bool Bump::apply(Configuration& next) { return configurations_.lend(next, kAnswerTimeout); }

bool Bump::snapshot(Report& report) {
  if (!snapshots_.lend(report, kAnswerTimeout)) return false;
  std::ranges::for_each(report.directions, judge);
  return true;
}

void Bump::serve_others() {
  configurations_.take([this](Configuration& next) {
    const Quiesce::Stopped stopped(westward_quiesce_);
    swap(next);
  });
  snapshots_.take([this](Report& report) {
    const Quiesce::Stopped stopped(westward_quiesce_);
    const Instant begin = nic::now();
    fill(report, begin, true);
    report.held_up = nic::now() - begin;
  });
}

void Bump::find_zero() noexcept {
  for (const Way* way : {&eastward_, &westward_}) {
    if (way->link().tallies().received.frames.get() == 0) continue;
    const auto came = way->last_received().time_since_epoch().count();
    zero_.store(std::min(zero_.load(std::memory_order_relaxed), came), std::memory_order_relaxed);
  }
}

void Bump::put_in_force(TimedChange& change) noexcept {
  const Quiesce::Stopped stopped(westward_quiesce_);
  if (change.configuration) swap(*change.configuration);
  if (change.links) {
    const config::LinkChange& links = *change.links;
    if (links.west) eastward_.set_way_in(links.up), westward_.set_way_out(links.up);
    if (links.east) westward_.set_way_in(links.up), eastward_.set_way_out(links.up);
  }
  change.done = nic::now();
}

void Bump::swap(Configuration& next) noexcept {
  eastward_.replace(next.eastward);
  westward_.replace(next.westward);
  // What is in flight may have the longer of the two before it.
  longest_stay_ = std::max(longest_stay_, next.longest_stay);
}

}  // namespace lw::impair
