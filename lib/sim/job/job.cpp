// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/job.h"

#include "core/figure.h"
#include "core/limits.h"

namespace lw::sim {

const FigureTable& JobConfig::figures() {
  using Row = FigureOf<JobConfig>;
  constexpr std::uint32_t kMostRepeats = 1'000'000;
  constexpr double kLongest = std::chrono::nanoseconds(kLongestJobPart).count();
  static constexpr Figure kRows[] = {
      Row::rows_of<&JobConfig::collective>(),
      Row::of<&JobConfig::step_overhead>(
          "step_overhead", "From when a message may be sent until it is posted.", Unit::ns)
          .from(0, kLongest),
      Row::of<&JobConfig::compute>("compute", "Computing of each rank in each iteration.", Unit::ns)
          .from(0, kLongest),
      Row::of<&JobConfig::overlap>(
          "overlap", "Share of the end of that in which the rank may communicate already.")
          .from(0, 1),
      Row::of<&JobConfig::repeat>("repeat", "Iterations.").from(1, kMostRepeats),
      Row::of<&JobConfig::start>("start", "When the first one begins.", Unit::ns)
          .from(0, kLongest)};
  static constexpr FigureTable kTable{"A job.", kRows};
  return kTable;
}

}  // namespace lw::sim
