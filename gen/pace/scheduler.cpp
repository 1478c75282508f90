// SPDX-License-Identifier: BSD-3-Clause
#include "gen/pace/scheduler.h"

#include <numeric>

#include "profile/flow_means.h"

namespace lw::gen {
namespace {

/// About the time of eight frames, all flows together.
Duration slot_for(const profile::FlowProfile& profile) {
  constexpr double kFrames = 8, kUsual = 1e6;
  double rate = 0;
  for (const profile::Flow& flow : profile.flows) {
    const profile::MessageMeans& means = flow.means;
    rate += means.wire_bytes > 0 ? mean_wire_bits(flow) / (8 * means.wire_bytes) * means.frames
                                 : kUsual;  // nobody worked the means out
  }
  constexpr double kLongest = 1e12;
  return Duration{static_cast<std::int64_t>(std::min(kFrames * 1e9 / rate, kLongest))};
}

}  // namespace

Scheduler::Scheduler(const profile::FlowProfile& profile, std::optional<std::uint64_t> seed)
    : payloads_(seed.value_or(profile.seed)),
      flows_(sources_of(profile)),
      turns_(flows_.size(), slot_for(profile), first_turns()) {}

std::vector<FlowSource> Scheduler::sources_of(const profile::FlowProfile& profile) {
  std::vector<FlowSource> sources;
  sources.reserve(profile.flows.size());
  for (const profile::Flow& flow : profile.flows) {
    sources.push_back({Pacer(flow, payloads_.seed()), FlowStream(flow, shapes_, payloads_)});
  }
  return sources;
}

std::vector<Turn> Scheduler::first_turns() const {
  std::vector<Turn> turns;
  for (std::uint32_t i = 0; i < flows_.size(); ++i) {
    if (!flows_[i].pacer.ended()) turns.push_back({flows_[i].pacer.due(), i});
  }
  return turns;
}

std::optional<DueFrame> Scheduler::next() const noexcept {
  if (turns_.empty()) return std::nullopt;
  const Turn& turn = turns_.first();
  const FlowStream& stream = flows_[turn.flow].stream;
  return DueFrame{turn.flow,     turn.at, &stream.frame(), stream.moving(), stream.ends_message(),
                  stream.fault()};
}

/// The sources of the slot after the one that begins, and the templates of this one, whose sources
/// came a slot ago.
void Scheduler::fetch_ahead() const noexcept {
  for (const Turn& turn : turns_.under_way()) flows_[turn.flow].stream.frame().prefetch();
  turns_.for_next_slot([this](std::uint32_t flow) {
    constexpr std::size_t kLine = 64, kHot = 6 * kLine;
    const auto* source = reinterpret_cast<const char*>(&flows_[flow]);
    for (std::size_t i = 0; i < kHot; i += kLine) __builtin_prefetch(source + i);
  });
}

}  // namespace lw::gen
