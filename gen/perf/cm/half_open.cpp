// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/cm/half_open.h"

namespace lw::gen {

const HalfOpen* HalfOpenConnections::find(const PeerId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &*found->second;
}

const HalfOpen* HalfOpenConnections::find(std::uint32_t qpn) const {
  const auto found = by_qpn_.find(qpn);
  return found == by_qpn_.end() ? nullptr : &*found->second;
}

void HalfOpenConnections::add(HalfOpen added) {
  if (entries_.size() >= most_) remove(entries_.front());
  entries_.push_back(std::move(added));
  const auto last = std::prev(entries_.end());
  by_id_[last->id] = last;
  by_qpn_[last->qpn] = last;
}

void HalfOpenConnections::note_repeated(const HalfOpen& known, Instant now) {
  const auto entry = by_qpn_.at(known.qpn);
  entry->heard = now;
  entries_.splice(entries_.end(), entries_, entry);
}

void HalfOpenConnections::remove(const HalfOpen& known) {
  const auto entry = by_qpn_.at(known.qpn);
  by_id_.erase(entry->id);
  by_qpn_.erase(entry->qpn);
  entries_.erase(entry);
}

void HalfOpenConnections::expire(Instant limit) {
  while (!entries_.empty() && entries_.front().heard < limit) remove(entries_.front());
}

}  // namespace lw::gen
