// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/vm_migration.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "config/impair/path.h"
#include "config/toml/profile_search.h"
#include "core/quantity.h"
#include "gen/experiment/run_kind.h"
#include "sim/perf.h"

namespace lw::gen::experiment {
namespace {

/// Returns the bytes written from the start of the first pass until `at_s`, counting repeated
/// writes.
double written(const Stress& stress, double at_s) noexcept {
  const double passes = std::floor(at_s / stress.cycle_s());
  const double within = at_s - passes * stress.cycle_s();
  return passes * stress.working_set + std::min(stress.working_set, within * stress.write_rate);
}

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kBits = 8;

Parsed<double> seconds(std::string_view text) {
  const auto duration = parse_duration(text);
  if (!duration) return std::unexpected(duration.error());
  return static_cast<double>(duration->count()) * 1e-9;
}

/// Returns the rate in b/s that one QP of 1 MiB WRITEs, 128 outstanding, reaches over the path:
/// QEMU sends memory in such chunks.
double wire_bps(const emulator::Path& path) {
  perf::PerfConfig config;
  config.size = 1U << 20;
  config.qp.timeout = 18;
  config.path.one_way = one_way_delay(path, emulator::Direction::west_to_east);
  config.path.way_back = one_way_delay(path, emulator::Direction::east_to_west);
  return sim::run_bandwidth(config).steady_bps;
}

/// ExperimentResults of the migrations that began at different times of the guest's cycle.
struct Ends {
  std::uint32_t finished = 0, all = 0;
  double seconds = 0, copied = 0, passes = 0;
};

Ends migrate_often(Precopy migration, unsigned starts) {
  Ends ends{.all = starts};
  for (unsigned start = 0; start < starts; ++start) {
    migration.stress.begun_before_s = migration.stress.cycle_s() * start / starts;
    const PrecopyResult result = migrate(migration);
    ends.copied += result.copied_bytes / starts;
    ends.passes += static_cast<double>(result.passes) / starts;
    if (!result.total_s) continue;
    ++ends.finished;
    ends.seconds += *result.total_s;
  }
  if (ends.finished > 0) ends.seconds /= ends.finished;
  return ends;
}

/// Returns the result in the form of the published table: seconds, "DNF", or "partial:" and the
/// seconds of the finished migrations.
report::Json outcome(const Ends& ends) {
  if (ends.finished == ends.all) return ends.seconds;
  if (ends.finished == 0) return "DNF";
  return fmt::format("partial:{:.0f}", ends.seconds);
}

/// The figures of a migration. `memory`: of the guest, in bytes; `wire`: of the path, in bit/s.
report::Json values_of(const Precopy& run, const Ends& ends, double memory, double wire) {
  return {{"memory_gib", memory / kGiB}, {"written_gib", run.stress.working_set / kGiB},
          {"wire_gbps", wire / 1e9},     {"rate_gbps", run.rate * kBits / 1e9},
          {"finished", ends.finished},   {"starts", ends.all},
          {"passes", ends.passes},       {"copied_gib", ends.copied / kGiB},
          {"time_s", outcome(ends)}};
}

class VmKind : public RunKind {
 public:
  void add_options(app::Options& options) override;
  Result<Work> work() override;
  [[nodiscard]] report::Json figures() const override { return values_of({}, {}, 0, 0); }

 private:
  std::string path_;
  std::string transport_ = "rdma";
  std::uint64_t memory_ = 8ULL << 30, disk_ = 100'000'000'000, used_ = 1ULL << 30;
  double stress_percent_ = 0;
  double rdma_rate_bps_ = 0, tcp_rate_bps_ = 0, write_rate_bps_ = 0, disk_rate_bps_ = 0;
  double pause_s_ = 1, downtime_s_ = 0.3, limit_s_ = 600;
  unsigned starts_ = 4;
};

void VmKind::add_options(app::Options& options) {
  const auto add = [&options](const char* name, auto read, auto& target, const char* unit,
                              const char* help) {
    options.add(name, app::parsed(read, target), unit, help);
  };
  options.add("--path", app::profile(path_, {config::kPathProfiles}), "PROFILE", "path profile");
  options.add("--transport", app::choice(transport_, {"rdma", "tcp"}), "KIND",
              "transport of the memory");
  add("--memory", parse_bytes, memory_, "SIZE", "memory of the guest");
  options.add("--stress", app::number(stress_percent_, 0.0, 100.0), "N",
              "share of the memory that is written, in %, rounded up to whole GiB");
  add("--used", parse_bytes, used_, "SIZE", "other memory that is not zero");
  add("--disk", parse_bytes, disk_, "SIZE", "disk that is copied before the memory");
  add("--disk-rate", parse_bit_rate, disk_rate_bps_, "RATE", "rate of the disk's copy");
  add("--rdma-rate", parse_bit_rate, rdma_rate_bps_, "RATE", "rate at which a host sends by RDMA");
  add("--tcp-rate", parse_bit_rate, tcp_rate_bps_, "RATE", "rate at which a host sends by TCP");
  add("--write-rate", parse_bit_rate, write_rate_bps_, "RATE", "rate at which the guest writes");
  add("--pause", seconds, pause_s_, "TIME", "pause of the guest between two passes");
  add("--downtime", seconds, downtime_s_, "TIME", "allowed downtime at the end");
  add("--limit", seconds, limit_s_, "TIME", "longest migration; a longer one counts as unfinished");
  options.add("--starts", app::number(starts_, 1u, 1000u), "N",
              "number of start moments within the guest's cycle");
}

Result<Work> VmKind::work() {
  if (path_.empty()) return fail("expected a path, found none");
  const auto path = config::load_path_profile(path_);
  if (!path) return std::unexpected(path.error());
  const bool rdma = transport_ == "rdma";
  const double host_bps = rdma ? rdma_rate_bps_ : tcp_rate_bps_;
  if (host_bps <= 0) return fail(fmt::format("expected {}_rate, found none", transport_));
  if (write_rate_bps_ <= 0) return fail("expected write_rate, found none");
  if (disk_rate_bps_ <= 0) return fail("expected disk_rate, found none");
  const double memory = static_cast<double>(memory_);
  Precopy migration{.disk_bytes = static_cast<double>(disk_),
                    .disk_rate = disk_rate_bps_ / kBits,
                    .used_bytes = static_cast<double>(used_),
                    .rate = 1,
                    .downtime_s = downtime_s_,
                    .limit_s = limit_s_,
                    .stress = {}};
  migration.stress.working_set = std::ceil(memory / kGiB * stress_percent_ / 100) * kGiB;
  migration.stress.write_rate = write_rate_bps_ / kBits;
  migration.stress.pause_s = pause_s_;
  return Work{.by_chance = false,
              .has_packets = false,
              .run = [=, path = *path, starts = starts_](std::uint64_t /*seed*/,
                                                         const sim::PerfHook& /*hook*/) {
                Precopy run = migration;
                const double wire = wire_bps(path);
                run.rate = (rdma ? std::min(wire, host_bps) : host_bps) / kBits;
                const Ends ends = migrate_often(run, starts);
                return values_of(run, ends, memory, wire);
              }};
}

}  // namespace

/// Within one cycle each byte is written at most once; a whole cycle writes all bytes.
double Stress::touched(double from_s, double to_s) const noexcept {
  if (working_set <= 0) return 0;
  if (to_s - from_s >= cycle_s()) return working_set;
  const double since_first = begun_before_s + from_s;
  return std::min(working_set,
                  written(*this, since_first + to_s - from_s) - written(*this, since_first));
}

PrecopyResult migrate(const Precopy& migration) noexcept {
  const double disk_s = migration.disk_bytes / migration.disk_rate;
  PrecopyResult result;
  double now_s = 0;
  double left = migration.used_bytes + migration.stress.working_set;
  while (disk_s + now_s <= migration.limit_s) {
    const double end_s = now_s + left / migration.rate;
    result.copied_bytes += left;
    ++result.passes;
    left = migration.stress.touched(now_s, end_s);
    now_s = end_s;
    if (left > migration.rate * migration.downtime_s) continue;
    result.copied_bytes += left;
    result.total_s = disk_s + now_s + left / migration.rate;
    return result;
  }
  return result;
}

std::unique_ptr<RunKind> make_vm_migration() { return std::make_unique<VmKind>(); }

}  // namespace lw::gen::experiment
