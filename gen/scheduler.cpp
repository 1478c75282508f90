// SPDX-License-Identifier: BSD-3-Clause
#include "gen/scheduler.h"

namespace lw::gen {

Scheduler::Scheduler(const profile::FlowProfile& profile, std::optional<std::uint64_t> seed)
    : payloads_(seed.value_or(profile.seed)) {
  for (const profile::Flow& flow : profile.flows) {
    const Pacer pacer(flow, payloads_.seed());
    if (!pacer.ended()) turns_.push({pacer.due(), flows_.size()});
    flows_.push_back({std::make_unique<FlowStream>(flow, shapes_, payloads_), pacer});
  }
}

std::optional<DueFrame> Scheduler::next() const noexcept {
  if (turns_.empty()) return std::nullopt;
  const Turn& turn = turns_.top();
  const FlowStream& stream = *flows_[turn.flow].stream;
  return DueFrame{turn.flow,     turn.at, &stream.frame(), stream.moving(), stream.ends_message(),
                  stream.fault()};
}

void Scheduler::advance() noexcept {
  const std::size_t flow = turns_.top().flow;
  Source& source = flows_[flow];
  turns_.pop();
  source.pacer.advance(source.stream->work());
  source.stream->advance();
  if (source.stream->has_next() && !source.pacer.ended()) turns_.push({source.pacer.due(), flow});
}

}  // namespace lw::gen
