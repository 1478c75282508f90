// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/precopy.h"

#include <algorithm>
#include <cmath>

namespace lw::gen::experiment {
namespace {

/// Bytes written from the first pass' beginning until `at_s`, each pass anew.
double written(const Stress& stress, double at_s) noexcept {
  const double passes = std::floor(at_s / stress.cycle_s());
  const double within = at_s - passes * stress.cycle_s();
  return passes * stress.working_set + std::min(stress.working_set, within * stress.write_rate);
}

}  // namespace

/// Within one cycle no byte is written twice; in a whole one, all are.
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

}  // namespace lw::gen::experiment
