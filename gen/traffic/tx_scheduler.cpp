// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/tx_scheduler.h"

#include <utility>

#include "config/flow/flow_means.h"

namespace lw::gen {
namespace {

constexpr std::size_t kLine = 64;  // bytes

/// About the time of eight frames, all flows together.
Duration slot_for(const config::FlowProfile& profile) {
  constexpr double kFrames = 8, kUsual = 1e6;
  double rate = 0;
  for (const config::Flow& flow : profile.flows) {
    const config::MessageMeans& means = flow.means;
    rate += means.wire_bytes > 0 ? mean_wire_bits(flow) / (8 * means.wire_bytes) * means.frames
                                 : kUsual;  // nobody worked the means out
  }
  constexpr double kLongest = 1e12;
  return Duration{static_cast<std::int64_t>(std::min(kFrames * 1e9 / rate, kLongest))};
}

}  // namespace

TxScheduler::TxScheduler(const config::FlowProfile& profile, std::optional<std::uint64_t> seed)
    : payloads_(seed.value_or(profile.seed)),
      walks_(walks_of(profile)),
      sources_(first_sources()),
      turns_(walks_.size(), slot_for(profile), first_turns()) {}

std::vector<FlowWalk> TxScheduler::walks_of(const config::FlowProfile& profile) {
  std::vector<FlowWalk> walks;
  walks.reserve(profile.flows.size());
  for (const config::Flow& flow : profile.flows) {
    walks.push_back({Pacer(flow, payloads_.seed()), FlowCursor(flow, shapes_, payloads_)});
  }
  return walks;
}

/// When all templates are made: only then a shape knows its frames' own words.
std::vector<HotFlow> TxScheduler::first_sources() noexcept {
  std::vector<HotFlow> sources;
  sources.reserve(walks_.size());
  for (FlowWalk& walk : walks_) sources.emplace_back(walk);
  return sources;
}

std::vector<DueFlow> TxScheduler::first_turns() const {
  std::vector<DueFlow> turns;
  for (std::uint32_t i = 0; i < walks_.size(); ++i) {
    if (!walks_[i].pacer.ended()) turns.push_back({walks_[i].pacer.due(), i});
  }
  return turns;
}

void TxScheduler::advance() noexcept {
  FlowWalk& walk = walks_[turns_.first().flow];
  walk.advance() ? turns_.put_back(walk.pacer.due()) : turns_.remove_first();
}

std::optional<DueFrame> TxScheduler::next() const noexcept {
  if (turns_.empty()) return std::nullopt;
  const DueFlow& turn = turns_.first();
  const FlowCursor& stream = walks_[turn.flow].stream;
  return DueFrame{turn.flow,     turn.at, &stream.frame(), stream.fields(), stream.ends_message(),
                  stream.fault()};
}

/// Where it will be asked: a source that came before says whether its run ends. The sources
/// themselves the hardware fetches as well: they mostly come in their order.
inline void TxScheduler::fetch_walk(std::uint32_t flow) const noexcept {
  if (!sources_[flow].runs_out()) return;
  const auto* walk = reinterpret_cast<const char*>(&walks_[flow]);
  for (std::size_t i = 0; i < 6 * kLine; i += kLine) __builtin_prefetch(walk + i);
}

/// Of the wheel's slot that begins.
void TxScheduler::fetch_slot() const noexcept {
  for (const DueFlow& turn : turns_.wheel().under_way()) fetch_walk(turn.flow);
}

/// Of the next round, if it has as many turns as the one before. Runs that are long end seldom, and
/// mostly one behind the other.
void TxScheduler::fetch_round(std::size_t turns) noexcept {
  if (!std::exchange(runs_end_, false)) return;
  turns_.for_belt(0, turns, [this](std::uint32_t flow) { fetch_walk(flow); });
}

}  // namespace lw::gen
