// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/forwarding_loop.h"

#include <algorithm>
#include <sched.h>
#include <thread>

#include <rte_lcore.h>

#include "impair/datapath/configuration.h"

namespace lw::impair {
namespace {

using emulator::Direction;

constexpr Direction kEastward = Direction::west_to_east, kWestward = Direction::east_to_west;
// Time for draining beyond the longest stay, because the other side may be slow or gone.
constexpr Duration kDrainMargin = std::chrono::seconds(2);
// The stop flag is checked in every round. Clocks, files and requests of other threads are checked
// in every idle round (it may last longer than a time slice of another process), otherwise at this
// interval.
constexpr unsigned kRoundsBetweenLooks = 64;
// A round takes microseconds, and a rest a little longer: without an answer after this time, the
// loop has ended.
constexpr Duration kAnswerTimeout = std::chrono::seconds(5);

std::array<PortIo, 2> port_ios(Ports& ports) {
  const auto arena = [&](Direction direction) {
    return ports.arenas.empty() ? nullptr : ports.arenas[static_cast<std::size_t>(direction)].get();
  };
  return {PortIo(kEastward, ports.west, ports.east, ports.pool.get(), nic::now, arena(kEastward)),
          PortIo(kWestward, ports.east, ports.west, ports.pool.get(), nic::now, arena(kWestward))};
}

/// Registers the calling thread with DPDK, which gives it its own cache of free buffers. Pins it to
/// CPU `core` if given.
class DpdkThread {
 public:
  explicit DpdkThread(std::optional<int> core) noexcept : registered_(rte_thread_register() == 0) {
    if (!core) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(*core), &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  DpdkThread(const DpdkThread&) = delete;
  DpdkThread& operator=(const DpdkThread&) = delete;
  ~DpdkThread() {
    if (registered_) rte_thread_unregister();
  }

 private:
  bool registered_;
};

}  // namespace

ForwardingLoop::ForwardingLoop(const config::ImpairProfile& profile, Ports& ports,
                               emulator::LedgerSink* ledger)
    : forwarder_(profile, link_config(profile), port_ios(ports), ledger),
      longest_stay_(profile.longest_stay()) {}

bool ForwardingLoop::poll(bool receiving) noexcept {
  const bool east = forwarder_.poll(kEastward, receiving);
  const bool west = !on_two_cores_ && forwarder_.poll(kWestward, receiving);
  stalls_.poll(forwarder_.last_time(kEastward));
  if (zero_.load(std::memory_order_relaxed) == kNever.time_since_epoch().count()) [[unlikely]]
    find_zero();
  make_due_changes(forwarder_.last_time(kEastward));
  return east || west;
}

void ForwardingLoop::make_due_changes(Instant now) noexcept {
  changes_.use_due(now, Instant{Duration{zero_.load(std::memory_order_relaxed)}},
                   [this](Change& change) { apply_due(change); });
}

void ForwardingLoop::find_zero() noexcept {
  for (const Direction direction : {kEastward, kWestward}) {
    const auto came = forwarder_.first_arrival(direction).time_since_epoch().count();
    zero_.store(std::min(zero_.load(std::memory_order_relaxed), came), std::memory_order_relaxed);
  }
}

void ForwardingLoop::apply_due(Change& change) noexcept {
  const Quiesce::Stopped stopped(westward_quiesce_);
  if (change.configuration) swap(*change.configuration);
  if (change.links) forwarder_.set_links(*change.links);
  change.effect = effect_now();
}

/// Requires that no thread forwards.
Effect ForwardingLoop::effect_now() const noexcept {
  return {.at = nic::now(), .zero = zero(), .first_frames = forwarder_.next_numbers()};
}

/// Keeps the longer of the two stays, because frames inside may have it.
void ForwardingLoop::swap(Configuration& next) noexcept {
  forwarder_.replace(next);
  longest_stay_ = std::max(longest_stay_, next.longest_stay());
}

void ForwardingLoop::rest(nic::Idle& idle) noexcept {
  idle.rest(nic::now(), on_two_cores_ ? forwarder_.next_work(kEastward) : forwarder_.next_work());
}

bool ForwardingLoop::is_over(Instant now, const RunConfig& config) const noexcept {
  if (ended_.load(std::memory_order_relaxed)) return true;
  if (config.duration && now - start_ >= *config.duration) return true;
  // Only files end. A null port never delivers a frame, but that does not end the run.
  const bool ends = nic::reads_file(config.west) || nic::reads_file(config.east);
  if (ends && forwarder_.input_ended(kEastward) && forwarder_.input_ended(kWestward)) return true;
  const Instant last =
      std::max(forwarder_.last_received(kEastward), forwarder_.last_received(kWestward));
  return config.until_idle && now - last >= *config.until_idle;
}

void ForwardingLoop::work(const RunConfig& config, const std::atomic<bool>& stop,
                          const Observer& observe) {
  if (config.cores < 2) return work_on_this_core(config, stop, observe);
  on_two_cores_ = true;
  std::jthread other([&](const std::stop_token& over) { work_westward(config, over); });
  work_on_this_core(config, stop, observe);
  other.request_stop();
  other.join();
  on_two_cores_ = false;
}

void ForwardingLoop::work_westward(const RunConfig& config, const std::stop_token& stop) {
  const DpdkThread thread(config.second_core);
  nic::Idle idle(config.idle);
  westward_quiesce_.enter();
  westward_stalls_.start(nic::now());
  while (!stop.stop_requested()) {
    westward_quiesce_.pass();
    const bool busy = forwarder_.poll(kWestward, true);
    westward_stalls_.poll(forwarder_.last_time(kWestward));
    if (busy) {
      idle.busy();
    } else {
      idle.rest(nic::now(), forwarder_.next_work(kWestward));
    }
  }
  westward_quiesce_.leave();
}

void ForwardingLoop::work_on_this_core(const RunConfig& config, const std::atomic<bool>& stop,
                                       const Observer& observe) {
  nic::Idle idle(config.idle);
  stalls_.start(nic::now());
  for (unsigned rounds = 1; !stop.load(std::memory_order_relaxed); ++rounds) {
    const bool busy = poll(true);
    if (busy) {
      idle.busy();
    } else {
      rest(idle);
    }
    if (busy && rounds % kRoundsBetweenLooks != 0) continue;
    serve_other_threads();
    const Instant now = nic::now();
    if (is_over(now, config)) return;
    if (observe) observe(now, forwarder_);
  }
}

void ForwardingLoop::drain(const std::function<bool()>& forced) {
  const Instant give_up = nic::now() + longest_stay_ + kDrainMargin;
  nic::Idle idle(IdleMode::adaptive);
  while (forwarder_.inside() > 0 && !forced() && nic::now() < give_up) {
    serve_other_threads();
    if (poll(false)) {
      idle.busy();
    } else {
      rest(idle);
    }
  }
  forwarder_.abandon();
  end_ = nic::now();
  close();
}

void ForwardingLoop::close() noexcept {
  snapshots_.close();
  configurations_.close();
  links_.close();
  rooms_.close();
  recorders_.close();
  changes_.close();
}

std::uint64_t ForwardingLoop::lost_here(Direction direction) const noexcept {
  return unasked_losses(forwarder_.link(direction).counters().account({})).frames;
}

Stalls ForwardingLoop::all_stalls() const noexcept {
  Stalls stalls = stalls_.stalls();
  stalls.add(westward_stalls_.stalls());
  return stalls;
}

ForwardingLoop::Statistics ForwardingLoop::statistics() const {
  Statistics statistics{.seconds = seconds_between(start_, end_),
                        .directions = forwarder_.report(false),
                        .stalls = all_stalls()};
  std::ranges::for_each(statistics.directions, audit);
  return statistics;
}

bool ForwardingLoop::snapshot(Statistics& statistics) {
  const std::lock_guard lock(asking_);
  if (!snapshots_.lend(statistics, kAnswerTimeout)) return false;
  std::ranges::for_each(statistics.directions, audit);
  return true;
}

std::optional<Effect> ForwardingLoop::apply(Configuration& next) {
  Swap swap{.next = &next};
  return configurations_.lend(swap, kAnswerTimeout) ? std::optional(swap.effect) : std::nullopt;
}

std::optional<Effect> ForwardingLoop::set_links(config::LinkChange change) {
  LinkSwitch asked{.change = change};
  return links_.lend(asked, kAnswerTimeout) ? std::optional(asked.effect) : std::nullopt;
}

bool ForwardingLoop::grow(MoreRoom& room) { return rooms_.lend(room, kAnswerTimeout); }

bool ForwardingLoop::record(Recorders recorders) {
  return recorders_.lend(recorders, kAnswerTimeout);
}

void ForwardingLoop::attach(const Recorders& recorders) noexcept {
  for (const Direction direction : {kEastward, kWestward})
    forwarder_.record(direction, recorders[static_cast<std::size_t>(direction)]);
}

void ForwardingLoop::serve_other_threads() {
  make_due_changes(nic::now());
  recorders_.use_lent([this](const Recorders& recorders) {
    const Quiesce::Stopped stopped(westward_quiesce_);
    attach(recorders);
  });
  links_.use_lent([this](LinkSwitch& asked) {
    const Quiesce::Stopped stopped(westward_quiesce_);
    forwarder_.set_links(asked.change);
    asked.effect = effect_now();
  });
  rooms_.use_lent([this](MoreRoom& room) {
    const Quiesce::Stopped stopped(westward_quiesce_);
    for (const Direction direction : {kEastward, kWestward}) {
      const auto i = static_cast<std::size_t>(direction);
      forwarder_.grow(direction, room.links[i], MbufAccess(room.arenas[i].get()));
    }
  });
  configurations_.use_lent([this](Swap& asked) {
    const Quiesce::Stopped stopped(westward_quiesce_);
    swap(*asked.next);
    asked.effect = effect_now();
  });
  snapshots_.use_lent([this](Statistics& statistics) {
    const Quiesce::Stopped stopped(westward_quiesce_);
    const Instant begin = nic::now();
    statistics.seconds = seconds_between(start_, begin);
    statistics.stalls = all_stalls();
    statistics.directions = forwarder_.report(true);
    statistics.held_up = nic::now() - begin;
  });
}

}  // namespace lw::impair
