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

/// Whether nine in ten round trips never grew by the time of 64 kB, or by a 64th of the way to the
/// receiver and back: switches have longer queues.
bool queues_are_short(const RoundTripGrowth& growth, const UnmarkedLosses& losses) {
  constexpr std::uint64_t kEnough = 4;  // round trips
  constexpr double kLong = 64e3;        // bytes
  constexpr std::int64_t kShare = 64;
  return growth.samples >= kEnough && (bytes_in(growth.usual_wait, losses.link) <= kLong ||
                                       growth.usual_wait <= losses.trips.longest_way / kShare);
}

/// Whether the link was less than half as busy as at other times whenever a packet was lost. A
/// round trip's worth must be many packets: rows of 16 do not show a queue of two.
bool was_idle(const UnmarkedLosses& losses) {
  constexpr double kLongWay = 32e3;  // bytes
  constexpr std::uint64_t kMany = 8;
  return losses.loads.idle > 0 && losses.loads.idle == losses.loads.all() &&
         losses.loads.all() == losses.lost &&
         (losses.loads.idle >= kMany ||
          bytes_in(losses.trips.longest_way, losses.link) >= kLongWay);
}

/// Whether what round trips grew by is no queue of a round trip's worth: half of the way, or 4 kB.
bool grew_little(const RoundTripGrowth& growth, const LinkRate& link) {
  constexpr double kLittle = 0.5, kShort = 4e3;
  return growth.share <= kLittle || bytes_in(growth.longest_wait, link) <= kShort;
}

/// Whether round trips show no long queue, of a receiver's or a switch's length or a round trip's
/// worth.
bool round_trips_are_short(const RoundTripGrowth& growth, const UnmarkedLosses& losses) {
  return queues_are_short(growth, losses) && grew_little(growth, losses.link);
}

/// How round trips to hosts grew that all packets reached that are missing here.
RoundTripGrowth growth_elsewhere(const UnmarkedLosses& losses) {
  RoundTripGrowth growth;
  for (const auto& [target, one] : losses.trips.to)
    if (!losses.loads.targets.contains(target)) growth.add(one);
  return growth;
}

/// Whether all losses show where one host's packets come to another: nobody else's filled a queue.
/// On the way to other hosts, whose packets may meet others behind the point, none was long.
bool is_of_one_host(const UnmarkedLosses& losses) {
  return grew_little(growth_elsewhere(losses), losses.link) && losses.shared.rows == 0 &&
         losses.loads.all() > 0 && losses.loads.all() == losses.lost && losses.behind == 0 &&
         losses.missing_acks == 0;
}

/// Whether round trips show no long queue behind the point.
bool grew_little(const UnmarkedLosses& losses) {
  const RoundTripGrowth growth = path_growth(losses.trips, losses.shared);
  if (growth.samples == 0 && losses.trips.near.samples > 0) return true;  // no path is behind it
  return round_trips_are_short(growth, losses);
}

std::string unmarked_text(const UnmarkedLosses& losses) {
  return fmt::format("none of {} packets that queues may mark is marked", losses.markable);
}

}  // namespace

std::string short_queue_reason(const UnmarkedLosses& losses) {
  if (hosts_meet(losses) || !none_was_marked(losses) || !grew_little(losses)) return {};
  const RoundTripGrowth& growth = path_growth(losses.trips, losses.shared);
  if (growth.samples == 0)
    return fmt::format(
        "{}, the receivers answer within 1 us, so they are next to this point, and get packets of "
        "one host each: no queue was long, if queues mark",
        unmarked_text(losses));
  const std::string grew = growth.longest_wait > Duration{}
                               ? "grew by no more than " + format_duration(growth.longest_wait)
                               : "did not grow";
  return fmt::format("{}, and round trips {}: no queue was long, if queues mark",
                     unmarked_text(losses), grew);
}

std::string bad_link_reason(const UnmarkedLosses& losses) {
  if (hosts_meet(losses)) return {};
  if (was_idle(losses))
    return "the link had less than half of the load of its busiest 16 packets whenever one of them "
           "was lost: a full queue keeps its link busy.";
  if (!none_was_marked(losses)) return {};
  const std::string unmarked = unmarked_text(losses);
  const RoundTripGrowth& growth = path_growth(losses.trips, losses.shared);
  if (growth.samples >= losses.lost && round_trips_are_short(growth, losses))
    return fmt::format(
        "{}, and nine in ten round trips grew by no more than {}: no queue was full, if queues "
        "mark before they drop.",
        unmarked, format_duration(growth.usual_wait));
  if (is_of_one_host(losses))
    return unmarked +
           ", and no other host's packets came to their receiver: no queue was full, if queues "
           "mark before they drop, and no sender's link is faster than its receiver's.";
  return {};
}

}  // namespace lw::dissect
