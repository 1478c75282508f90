// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stats/service_watch.h"

#include <algorithm>
#include <bit>

namespace lw::emulator {

ServiceWatch::ServiceWatch(const LineQueueConfig& config) noexcept
    : several_(config.classes.size() > 1), cost_(config.cost) {
  paused_until_.fill(Instant{Duration::min()});
  for (std::uint32_t c = 0; c < config.classes.size(); ++c) {
    orders_[c] = config.classes[c].order;
    for (std::uint32_t other = 0; other < config.classes.size(); ++other) {
      const std::uint32_t priority = config.classes[other].order.priority;
      if (priority > orders_[c].priority) higher_[c] |= bit(other);
      if (priority == orders_[c].priority) equal_[c] |= bit(other);
    }
  }
}

/// Judges the choice of the class whose frame has left.
void ServiceWatch::judge(std::uint32_t cls, std::uint64_t on_link,
                         const LineTimes& times) noexcept {
  stats_.largest = std::max(stats_.largest, on_link);
  if (!times.follows) ready_ = 0;
  if (times.follows ? (ready_ & higher_[cls]) != 0 : overtakes(cls, times.starts))
    ++stats_.overtook;
  judge_share(cls, on_link);
}

/// Finds the classes that can send when a frame has left at `at`.
void ServiceWatch::find_ready(Instant at) noexcept {
  ready_ = 0;
  for (Classes left = not_empty_; left != 0; left &= left - 1) {
    const auto c = static_cast<std::uint32_t>(std::countr_zero(left));
    if (paused_until_[c] <= at) ready_ |= bit(c);
  }
}

/// True if a frame of `cls` that starts on an idle link at `starts`, when a pause has ended, could
/// have been one of a higher priority.
bool ServiceWatch::overtakes(std::uint32_t cls, Instant starts) const noexcept {
  for (Classes left = not_empty_ & higher_[cls]; left != 0; left &= left - 1) {
    const auto c = static_cast<std::uint32_t>(std::countr_zero(left));
    if (since_[c] < starts && paused_until_[c] <= starts) return true;
  }
  return false;
}

/// Compares the service of the classes of one priority since these classes can send.
void ServiceWatch::judge_share(std::uint32_t cls, std::uint64_t on_link) noexcept {
  const Classes rivals = ready_ & equal_[cls];
  if (equal_[cls] == 0) return;  // a class that was removed
  Classes& span = span_[static_cast<std::size_t>(std::countr_zero(equal_[cls]))];
  if (span != rivals)
    for (Classes left = equal_[cls]; left != 0; left &= left - 1)
      service_[static_cast<std::size_t>(std::countr_zero(left))] = 0;
  span = rivals;
  if (std::popcount(rivals) < 2 || (rivals & bit(cls)) == 0) return;
  service_[cls] += static_cast<double>(on_link) / orders_[cls].weight;
  double least = service_[cls], most = least;
  for (Classes left = rivals; left != 0; left &= left - 1) {
    const double one = service_[static_cast<std::size_t>(std::countr_zero(left))];
    least = std::min(least, one);
    most = std::max(most, one);
  }
  ++stats_.shared;
  stats_.widest = std::max(stats_.widest, most - least);
}

void ServiceWatch::take_over(const ServiceWatch& old) noexcept {
  several_ |= old.several_;
  waiting_ = old.waiting_;
  not_empty_ = old.not_empty_;
  bytes_ = old.bytes_;
  since_ = old.since_;
  paused_until_ = old.paused_until_;
}

}  // namespace lw::emulator
