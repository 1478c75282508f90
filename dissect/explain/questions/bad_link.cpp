// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/questions/bad_link.h"

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::dissect {
namespace {

/// Bytes that pass in `time` at the rate of the link.
double bytes_in(Duration time, const LinkRate& link) {
  return static_cast<double>(time.count()) * link.rate / 8e9;
}

/// Whether packets of several hosts met on the way: they may have filled a queue.
bool hosts_meet(const UnmarkedLosses& losses) {
  constexpr std::uint64_t kShare = 10;
  return losses.loads.several > 0 || losses.filled > 0 ||
         losses.shared.rows * kShare > losses.shared.rows_of_all_hosts;
}

/// Whether nearly all packets may be marked, and none is.
bool none_was_marked(const UnmarkedLosses& losses) {
  return 10 * losses.markable >= 9 * losses.packets;
}

/// Whether nine in ten round trips never grew by the time of 64 kB: switches have longer queues.
bool queues_are_short(const UnmarkedLosses& losses) {
  constexpr std::uint64_t kEnough = 8;  // round trips
  constexpr double kLong = 64e3;        // bytes
  return losses.trips.samples >= kEnough && bytes_in(losses.trips.usual_wait, losses.link) <= kLong;
}

/// Whether all losses show where one host's packets come to another: nobody else's filled a queue.
bool is_of_one_host(const UnmarkedLosses& losses) {
  constexpr std::uint64_t kEnough = 2;
  return losses.shared.rows == 0 && losses.loads.all() >= kEnough && losses.behind == 0 &&
         losses.missing_acks == 0 && losses.undecided <= losses.lost;
}

/// Whether the link was less than half as busy as at other times whenever a packet was lost. A
/// round trip's worth must be many packets: rows of 16 do not show a queue of two.
bool was_idle(const UnmarkedLosses& losses) {
  constexpr double kLongWay = 32e3;  // bytes
  return losses.loads.idle > 0 && losses.loads.idle == losses.loads.all() &&
         losses.loads.all() == losses.lost &&
         bytes_in(losses.trips.longest_way, losses.link) >= kLongWay;
}

}  // namespace

std::string bad_link_reason(const UnmarkedLosses& losses) {
  if (hosts_meet(losses)) return {};
  if (was_idle(losses))
    return "the link had less than half of the load of its busiest 16 packets whenever one of them "
           "was lost: a full queue keeps its link busy.";
  if (!none_was_marked(losses)) return {};
  const std::string unmarked =
      fmt::format("none of {} packets that queues may mark is marked", losses.markable);
  if (queues_are_short(losses))
    return fmt::format(
        "{}, and nine in ten round trips grew by no more than {}: no queue was full, if queues "
        "mark before they drop.",
        unmarked, format_duration(losses.trips.usual_wait));
  if (is_of_one_host(losses))
    return unmarked +
           ", and no other host's packets came to their receiver: no queue was full, if queues "
           "mark before they drop, and no sender's link is faster than its receiver's.";
  return {};
}

}  // namespace lw::dissect
