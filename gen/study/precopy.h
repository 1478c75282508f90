// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace lw::gen::experiment {

/// What the guest does to its memory: one thread writes all of `working_set`, from one end to the
/// other, pauses, frees it and begins again, as `stress --vm 1 --vm-hang 1` does.
struct Stress {
  double working_set = 0;     // bytes; 0: nothing is written
  double write_rate = 0;      // bytes/s, while it writes; > 0
  double pause_s = 1;         // between two passes
  double begun_before_s = 0;  // that a pass began so long before the memory's copying did

  [[nodiscard]] double cycle_s() const noexcept { return working_set / write_rate + pause_s; }
  /// How much of the working set is written at least once in [from, to], times from the copying's
  /// beginning.
  [[nodiscard]] double touched(double from_s, double to_s) const noexcept;
};

/// A migration as QEMU's pre-copy does it: the disk first, then memory that is in use, then, again
/// and again, what was written meanwhile; until what is left goes within the downtime.
struct Precopy {
  double disk_bytes = 0, disk_rate = 1;  // bytes/s
  double used_bytes = 0;                 // memory that isn't zeros, the stress's own not counted
  double rate = 1;                       // bytes/s of memory: the slower of wire and host
  double downtime_s = 0.3;
  double limit_s = 600;  // from the beginning: not finished by then, it never is
  Stress stress;
};

struct PrecopyResult {
  std::optional<double> total_s;  // none: it didn't finish
  std::uint32_t passes = 0;       // over memory
  double copied_bytes = 0;        // of memory, all passes
};

PrecopyResult migrate(const Precopy& migration) noexcept;

}  // namespace lw::gen::experiment
