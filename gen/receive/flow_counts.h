// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "core/histogram.h"
#include "core/time.h"

namespace lw::gen {

/// What a receiver counts of one stream's order. Numbers are packets; of PSNs it is PSNs, as a
/// lost READ REQUEST leaves as many open as it asked for.
struct OrderCounts {
  std::uint64_t lost = 0;           // passed over, and not come since
  std::uint64_t duplicated = 0;     // came again: copied on the way or, with PSNs, sent again
  std::uint64_t out_of_order = 0;   // late, for the first time (RFC 4737)
  std::uint64_t retransmitted = 0;  // PSNs: filled a gap by going back; the gap stays counted lost
  std::uint64_t beyond_window = 0;  // too far behind to be told apart
  std::uint64_t restarts = 0;       // the sender began anew
  std::unique_ptr<Histogram> extents;  // RFC 4737, 4.2.2; null until one is out of order

  void add_late(std::uint64_t extent) {
    ++out_of_order;
    if (!extents) extents = std::make_unique<Histogram>();
    extents->add(static_cast<std::int64_t>(extent));
  }
};

}  // namespace lw::gen
