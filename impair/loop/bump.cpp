// SPDX-License-Identifier: BSD-3-Clause
#include "impair/loop/bump.h"

#include <algorithm>

#include "impair/loop/sizing.h"
#include "impair/report/progress.h"

namespace lw::impair {
namespace {

using path::Direction;

// What draining may take beyond the longest delay: the other side may be slow, or gone.
constexpr Duration kDrainMargin = std::chrono::seconds(2);
// Signals are looked at every turn; clocks, files and other threads' wishes every so many.
constexpr unsigned kTurnsBetweenLooks = 64;
// A turn takes microseconds, and a rest some more; what takes longer isn't running.
constexpr Duration kAnswerPatience = std::chrono::seconds(5);

}  // namespace

path::Pipeline pipeline_of(const profile::ImpairProfile& profile, Direction direction,
                           std::span<const std::string> known) {
  return {direction, profile.seed, profile.rules, profile.events, known};
}

path::Pipeline pipeline_of(const profile::ImpairProfile& profile, Direction direction,
                           std::span<const std::string> known,
                           const std::shared_ptr<path::CmExchange>& exchange) {
  path::Pipeline result = pipeline_of(profile, direction, known);
  if (!profile.events.empty()) result.events().join(exchange);
  return result;
}

Configuration::Configuration(const profile::ImpairProfile& profile, const RuleNames& known)
    : eastward(pipeline_of(profile, Direction::west_to_east, known[0], exchange)),
      westward(pipeline_of(profile, Direction::east_to_west, known[1], exchange)),
      longest_stay(profile.longest_stay()) {}

Bump::Bump(const profile::ImpairProfile& profile, Equipment& equipment, path::LedgerSink* ledger)
    : eastward_(equipment.west, equipment.east,
                pipeline_of(profile, Direction::west_to_east, {}, exchange_), lane_config(profile),
                ledger),
      westward_(equipment.east, equipment.west,
                pipeline_of(profile, Direction::east_to_west, {}, exchange_), lane_config(profile),
                ledger),
      longest_stay_(profile.longest_stay()) {}

bool Bump::over(Instant now, const RunConfig& config) const noexcept {
  if (config.duration && now - start_ >= *config.duration) return true;
  if (eastward_.source_exhausted() && westward_.source_exhausted()) return true;
  const Instant last = std::max(eastward_.last_received(), westward_.last_received());
  return config.until_idle && now - last >= *config.until_idle;
}

void Bump::work(const RunConfig& config, const StopSignal& stop) {
  Idle idle(config.idle);
  Progress progress(start_);
  for (unsigned turns = 1; !stop.asked().load(std::memory_order_relaxed); ++turns) {
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
  while (eastward_.lane().inside() + westward_.lane().inside() > 0) {
    if (stop.insisted() || nic::now() >= give_up) break;
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

void Bump::report(Report& report) const { fill(report, end_, false); }

void Bump::fill(Report& report, Instant now, bool running) const {
  report.seconds = static_cast<double>((now - start_).count()) * 1e-9;
  for (const Way* way : {&eastward_, &westward_})
    report.directions.push_back(
        {running ? way->lane().running_books() : way->lane().books(),
         spread_of(way->lane().release_error()), spread_of(way->lane().pass_latency()),
         stages_of(way->lane().pipeline()), events_of(way->lane().pipeline().events())});
}

bool Bump::apply(Configuration& next) { return configurations_.lend(next, kAnswerPatience); }

bool Bump::snapshot(Report& report) { return snapshots_.lend(report, kAnswerPatience); }

void Bump::serve_others() {
  configurations_.take([this](Configuration& next) { swap(next); });
  snapshots_.take([this](Report& report) { fill(report, nic::now(), true); });
}

void Bump::swap(Configuration& next) noexcept {
  eastward_.replace(next.eastward);
  westward_.replace(next.westward);
  // What is in flight may have the longer of the two before it.
  longest_stay_ = std::max(longest_stay_, next.longest_stay);
}

}  // namespace lw::impair
