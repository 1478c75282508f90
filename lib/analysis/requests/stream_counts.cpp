// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/stream_counts.h"

namespace lw::analysis {
namespace {

constexpr std::uint64_t kOften = 16;  // times that a limit is reached by more than chance

}  // namespace

bool StreamCounts::held_by_reads() const noexcept {
  return most_reads > 1 && reads_at_most >= kOften && reads_at_most * 4 >= reads;
}

bool StreamCounts::held_by_window() const noexcept {
  return reads == 0 && held >= kOften && held_share() >= 0.25 && held_after * 8 <= held_before;
}

double StreamCounts::held_share() const noexcept {
  const Duration all = last - first;
  return all > Duration{0}
             ? static_cast<double>(held_before.count()) / static_cast<double>(all.count())
             : 0;
}

}  // namespace lw::analysis
