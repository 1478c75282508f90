// SPDX-License-Identifier: BSD-3-Clause
#include "impair/run.h"

#include <fstream>
#include <memory>
#include <vector>

#include <fmt/core.h>

#include "core/quantity.h"
#include "impair/ledger_file.h"
#include "impair/ledger_thread.h"
#include "impair/progress.h"
#include "impair/sizing.h"
#include "impair/stop_signal.h"
#include "impair/way.h"

namespace lw::impair {
namespace {

using path::Direction;

// What draining may take beyond the longest delay: the other side may be slow, or gone.
constexpr Duration kDrainMargin = std::chrono::seconds(2);
// Signals are looked at every turn; clocks and files every so many.
constexpr unsigned kTurnsBetweenLooks = 64;

path::Pipeline pipeline(const profile::ImpairProfile& profile, Direction direction) {
  return {direction, profile.seed, profile.rules, profile.events};
}

/// The same, where the two directions tell each other of connections: only events ask for them.
path::Pipeline pipeline(const profile::ImpairProfile& profile, Direction direction,
                        const std::shared_ptr<path::CmExchange>& exchange) {
  path::Pipeline result = pipeline(profile, direction);
  if (!profile.events.empty()) result.events().join(exchange);
  return result;
}

/// The ledger's file and the thread that writes it; neither where none was asked for.
struct LedgerOutput {
  std::unique_ptr<LedgerFile> file;
  std::unique_ptr<LedgerThread> thread;

  [[nodiscard]] path::LedgerSink* sink() const noexcept { return thread.get(); }
};

Result<LedgerOutput> open_ledger(const profile::ImpairProfile& profile, const RunConfig& config) {
  LedgerOutput output;
  if (!config.ledger) return output;
  const RuleNames names = {pipeline(profile, Direction::west_to_east).rule_names(),
                           pipeline(profile, Direction::east_to_west).rule_names()};
  // The loop runs on the steady clock; captures are stamped by the wall clock.
  const std::int64_t offset_ns = nic::wall_clock_ns() - to_ns(nic::now());
  auto file = LedgerFile::create(*config.ledger, names, offset_ns);
  if (!file) return std::unexpected(file.error());
  output.file = std::move(*file);
  output.thread = std::make_unique<LedgerThread>(*output.file);
  return output;
}

/// Two ports, a pool, and the ledger. Members are destroyed from the last to the first: a port
/// before its pool, all before EAL.
struct Equipment {
  nic::Eal eal;
  nic::Pool pool;
  nic::Port west, east;
};

Result<Equipment> open_equipment(const profile::ImpairProfile& profile, const RunConfig& config) {
  const Sizing sizing = size_for(profile);
  const std::vector<nic::PortSpec> specs = {config.west, config.east};
  const bool in_eal = needs_eal_memory(config.west) || needs_eal_memory(config.east);
  const std::uint64_t eal_bytes = (in_eal ? sizing.buffer_bytes : 0) + sizing.buffers * 16ULL;
  nic::EalConfig eal_config{.ports = specs,
                            .cores = {},
                            .memory_mib = static_cast<std::uint32_t>(64 + (eal_bytes >> 20)),
                            .verbose = config.verbose};
  if (config.core) eal_config.cores = {*config.core};
  auto eal = nic::Eal::start(eal_config);
  if (!eal) return std::unexpected(eal.error());
  auto pool = nic::Pool::create("frames", {.buffers = sizing.buffers,
                                           .frame_size = profile.capacity.largest_frame,
                                           .eal_memory = in_eal});
  if (!pool) return std::unexpected(pool.error());
  auto west = nic::Port::open(*eal, config.west, *pool);
  if (!west) return std::unexpected(west.error());
  auto east = nic::Port::open(*eal, config.east, *pool);
  if (!east) return std::unexpected(east.error());
  return Equipment{std::move(*eal), std::move(*pool), std::move(*west), std::move(*east)};
}

Result<void> wait_links(Equipment& equipment, const RunConfig& config, const StopSignal& stop) {
  for (nic::Port* port : {&equipment.west, &equipment.east})
    if (auto up = port->wait_link(config.wait, stop.asked()); !up) return up;
  fmt::print(stderr, "ready\n");
  std::fflush(stderr);
  if (config.ready_file && !(std::ofstream(*config.ready_file) << "ready\n"))
    return fail(fmt::format("can't write {}", *config.ready_file), ExitCode::environment);
  return {};
}

/// Both directions on the calling thread.
class Bump {
 public:
  Bump(const profile::ImpairProfile& profile, Equipment& equipment, path::LedgerSink* ledger)
      : eastward_(equipment.west, equipment.east, pipeline(profile, Direction::west_to_east, cm_),
                  lane_config(profile), ledger),
        westward_(equipment.east, equipment.west, pipeline(profile, Direction::east_to_west, cm_),
                  lane_config(profile), ledger),
        longest_stay_(profile.longest_stay()) {}

  void work(const RunConfig& config, const StopSignal& stop);
  /// Lets out what is in flight; what doesn't leave in time is dropped and counted.
  void drain(const StopSignal& stop);
  void report(Report& report) const;

 private:
  bool turn(bool receiving) noexcept {
    const bool east = eastward_.turn(receiving);
    const bool west = westward_.turn(receiving);
    return east || west;
  }
  void rest(Idle& idle) noexcept {
    idle.rest(nic::now(),
              std::min(eastward_.lane().next_release(), westward_.lane().next_release()));
  }
  [[nodiscard]] bool over(Instant now, const RunConfig& config) const noexcept;

  std::shared_ptr<path::CmExchange> cm_ = std::make_shared<path::CmExchange>();
  Way eastward_, westward_;
  Duration longest_stay_;
  Instant start_ = nic::now();
  Instant end_ = start_;
};

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
  report.seconds = static_cast<double>((end_ - start_).count()) * 1e-9;
  for (const Way* way : {&eastward_, &westward_})
    report.directions.push_back({way->lane().books(), spread_of(way->lane().release_error()),
                                 spread_of(way->lane().pass_latency()),
                                 stages_of(way->lane().pipeline()),
                                 events_of(way->lane().pipeline().events())});
}

PortReport report_of(std::string_view side, const nic::Port& port) {
  const nic::PortStats stats = port.stats();
  return {std::string(side),
          port.name(),
          stats.received,
          stats.sent,
          stats.missed,
          stats.no_buffer,
          stats.receive_errors + stats.send_errors};
}

}  // namespace

Result<Report> run(const profile::ImpairProfile& profile, const RunConfig& config) {
  if (auto fits = check_memory(profile, available_memory()); !fits)
    return std::unexpected(fits.error());
  const StopSignal stop;
  auto equipment = open_equipment(profile, config);
  if (!equipment) return std::unexpected(equipment.error());
  fmt::print(stderr, "{}\n", equipment->eal.notice());
  auto ledger = open_ledger(profile, config);
  if (!ledger) return std::unexpected(ledger.error());
  const auto bump = std::make_unique<Bump>(profile, *equipment, ledger->sink());
  if (auto up = wait_links(*equipment, config, stop); !up) return std::unexpected(up.error());
  bump->work(config, stop);
  bump->drain(stop);

  Report report{.command = "run", .profile = profile.name, .seed = profile.seed};
  bump->report(report);
  report.ports = {report_of("west", equipment->west), report_of("east", equipment->east)};
  if (config.ledger) {
    ledger->thread->finish();
    if (auto closed = ledger->file->close(); !closed) return std::unexpected(closed.error());
    report.ledger =
        LedgerReport{*config.ledger, ledger->file->records(), ledger->thread->skipped()};
  }
  return report;
}

}  // namespace lw::impair
