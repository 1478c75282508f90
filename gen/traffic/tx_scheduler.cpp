// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/tx_scheduler.h"

#include <utility>

#include "config/flow/profile.h"

namespace lw::gen {
namespace {

constexpr std::size_t kLine = 64;  // bytes

/// Returns about the time of eight frames, all flows together.
Duration slot_for(const config::FlowProfile& profile) {
  constexpr double kFrames = 8, kUsual = 1e6;
  double rate = 0;
  for (const config::Flow& flow : profile.flows) {
    const config::MessageMeans& means = flow.means;
    rate += means.wire_bytes > 0 ? mean_wire_bits(flow) / (8 * means.wire_bytes) * means.frames
                                 : kUsual;  // the means are unknown
  }
  constexpr double kLongest = 1e12;
  return Duration{static_cast<std::int64_t>(std::min(kFrames * 1e9 / rate, kLongest))};
}

}  // namespace

TxScheduler::TxScheduler(const config::FlowProfile& profile, std::optional<std::uint64_t> seed)
    : payloads_(seed.value_or(profile.seed)),
      cursors_(make_cursors(profile)),
      hot_(make_hot_flows()),
      queue_(cursors_.size(), slot_for(profile), first_due()) {}

std::vector<FlowCursor> TxScheduler::make_cursors(const config::FlowProfile& profile) {
  std::vector<FlowCursor> cursors;
  cursors.reserve(profile.flows.size());
  for (const config::Flow& flow : profile.flows) cursors.emplace_back(flow, layouts_, payloads_);
  return cursors;
}

/// Requires all cursors: a layout knows its own words only when all templates are composed.
std::vector<HotFlow> TxScheduler::make_hot_flows() noexcept {
  std::vector<HotFlow> flows;
  flows.reserve(cursors_.size());
  for (FlowCursor& cursor : cursors_) flows.emplace_back(cursor);
  return flows;
}

std::vector<DueFlow> TxScheduler::first_due() const {
  std::vector<DueFlow> due;
  for (std::uint32_t i = 0; i < cursors_.size(); ++i) {
    if (cursors_[i].has_next()) due.push_back({cursors_[i].pacer().due(), i});
  }
  return due;
}

void TxScheduler::advance() noexcept {
  FlowCursor& cursor = cursors_[queue_.first().flow];
  cursor.advance() ? queue_.reschedule_first(cursor.pacer().due()) : queue_.remove_first();
}

std::optional<DueFrame> TxScheduler::next() const noexcept {
  if (queue_.empty()) return std::nullopt;
  const DueFlow& due = queue_.first();
  const FlowCursor& cursor = cursors_[due.flow];
  return DueFrame{due.flow,      due.at, &cursor.frame(), cursor.fields(), cursor.ends_message(),
                  cursor.fault()};
}

/// Prefetches the cursor of a flow whose batch ends. The hardware prefetches hot flows, because
/// they mostly follow each other in memory.
inline void TxScheduler::prefetch_cursor(std::uint32_t flow) const noexcept {
  if (!hot_[flow].batch_ends()) return;
  const auto* cursor = reinterpret_cast<const char*>(&cursors_[flow]);
  for (std::size_t i = 0; i < 6 * kLine; i += kLine) __builtin_prefetch(cursor + i);
}

/// Prefetches the cursors of the flows in the wheel's new slot.
void TxScheduler::prefetch_slot() const noexcept {
  for (const DueFlow& due : queue_.wheel().current()) prefetch_cursor(due.flow);
}

/// Prefetches the cursors of the next batch of flows, which is expected to be as long as the last
/// one. Long batches of frames end seldom, and mostly one after another.
void TxScheduler::prefetch_batch(std::size_t flows) noexcept {
  if (!std::exchange(batches_end_, false)) return;
  queue_.for_ring(flows, [this](std::uint32_t flow) { prefetch_cursor(flow); });
}

config::FlowProfile flows_of(const config::FlowProfile& profile, CoreShare share) {
  config::FlowProfile part;
  part.name = profile.name;
  part.seed = profile.seed;
  for (std::size_t i = share.core; i < profile.flows.size(); i += share.cores) {
    part.flows.push_back(profile.flows[i]);
  }
  return part;
}

}  // namespace lw::gen
