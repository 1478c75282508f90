// SPDX-License-Identifier: BSD-3-Clause
#include "core/stalls.h"

namespace lw {

void Stalls::add(const Stalls& other) noexcept {
  watched = watched || other.watched;
  count += other.count;
  total += other.total;
  if (other.longest <= longest) return;
  longest = other.longest;
  longest_at = other.longest_at;
}

void StallWatch::note(Instant now) noexcept {
  const Duration gap = now - last_;
  ++stalls_.count;
  stalls_.total += gap;
  if (gap <= stalls_.longest) return;
  stalls_.longest = gap;
  stalls_.longest_at = last_ - start_;
}

}  // namespace lw
