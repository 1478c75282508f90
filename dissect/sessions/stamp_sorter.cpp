// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/stamp_sorter.h"

#include <algorithm>
#include <utility>

namespace lw::dissect {
namespace {

Instant moved(Instant stamp, Duration by) noexcept {
  return stamp > Instant::max() - by ? Instant::max() : stamp + by;
}

}  // namespace

void StampSorter::add(analysis::KeyedPacket&& packet, analysis::Analyst& analyst) {
  const analysis::QpFlowKey& key = packet.key;
  const Duration by = order_.moved_by(key.point, key.source, key.destination);
  const Instant stamp = packet.packet.stamp = moved(packet.packet.stamp, by);
  newest_ = std::max(newest_, stamp);
  waiting_.push_back({stamp, by > Duration{}, turns_++, std::move(packet)});
  std::push_heap(waiting_.begin(), waiting_.end());
  while (waiting_.size() > kMostWaiting || moved(waiting_.front().stamp, order_.window()) < newest_)
    release(analyst);
}

void StampSorter::release(analysis::Analyst& analyst) {
  std::pop_heap(waiting_.begin(), waiting_.end());
  analyst.add(waiting_.back().packet);
  waiting_.pop_back();
}

void StampSorter::finish(analysis::Analyst& analyst) {
  while (!waiting_.empty()) release(analyst);
}

}  // namespace lw::dissect
