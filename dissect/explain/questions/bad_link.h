// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "dissect/explain/questions/link_evidence.h"

namespace lw::dissect {

/// What was lost at one capture point, and what is known of the links around it.
struct UnmarkedLosses {
  std::uint64_t lost = 0, behind = 0;  // packets; of these: behind the capture point
  std::uint64_t missing_acks = 0;      // recoveries for want of an ACK
  std::uint64_t undecided = 0;         // packets that may have been lost, and NAKs
  std::uint64_t packets = 0;           // of all connections
  std::uint64_t markable = 0;          // of these: a queue may mark them, and none did
  LossLoads loads = {};
  SharedLink shared = {};
  RoundTrips trips = {};
  LinkRate link = {};
  std::uint64_t filled = 0;  // packets of several hosts that filled a link
};

/// Why no queue without room lost packets, of which none is marked: how busy the links were around
/// the losses, or how little round trips grew, says so, with its premises. Empty: nothing says so.
std::string bad_link_reason(const UnmarkedLosses& losses);

/// Why no queue was long at a point where nothing was lost, and nothing is marked: packets may be,
/// and round trips hardly grew. Empty: nothing says so.
std::string short_queue_reason(const UnmarkedLosses& losses);

}  // namespace lw::dissect
