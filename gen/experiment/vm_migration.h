// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace lw::gen::experiment {

class RunKind;

/// A guest's writes to its memory: one thread writes all of `working_set` in address order, pauses,
/// and repeats, as `stress --vm 1 --vm-hang 1` does.
struct Stress {
  double working_set = 0;     // bytes; 0: the guest writes nothing
  double write_rate = 0;      // bytes/s while it writes; > 0
  double pause_s = 1;         // between two passes
  double begun_before_s = 0;  // time from the start of a pass to the start of the migration

  [[nodiscard]] double cycle_s() const noexcept { return working_set / write_rate + pause_s; }
  /// Bytes of the working set that are written at least once in [from, to], in seconds since the
  /// copying began.
  [[nodiscard]] double touched(double from_s, double to_s) const noexcept;
};

/// A pre-copy migration as in QEMU: copies first the disk, then the used memory, then repeatedly
/// the memory that was written in the meantime, until the rest can be copied within the downtime.
struct Precopy {
  double disk_bytes = 0, disk_rate = 1;  // bytes, bytes/s
  double used_bytes = 0;                 // non-zero memory, without the guest's working set
  double rate = 1;                       // bytes/s of memory: the slower of link and host
  double downtime_s = 0.3;
  double limit_s = 600;  // a migration that takes longer doesn't finish
  Stress stress;
};

struct PrecopyResult {
  std::optional<double> total_s;  // nothing if it didn't finish
  std::uint32_t passes = 0;       // over memory
  double copied_bytes = 0;        // of memory, all passes
};

PrecopyResult migrate(const Precopy& migration) noexcept;

/// "vm-migration": a virtual machine moves by pre-copy. The wire's rate with RDMA is simulated
/// packet by packet; the hosts' rates, and that of TCP, are parameters.
std::unique_ptr<RunKind> make_vm_migration();

}  // namespace lw::gen::experiment
