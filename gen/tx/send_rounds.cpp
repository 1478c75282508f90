// SPDX-License-Identifier: BSD-3-Clause
// A frame each of flows that take turns.
#include <algorithm>
#include <array>

#include "gen/tx/tx_loop.h"

namespace lw::gen {

/// take_turn() of flow after flow, a frame each, as long as none of them comes again before the
/// next one: what many QPs do. All turns are given back at once.
std::uint64_t TxLoop::take_round(FlowBurst::Filling& burst, SendStamp& stamp, Duration elapsed,
                                 std::uint64_t most) noexcept {
  std::span<const DueFlow> turns = scheduler_.row();
  turns = turns.first(std::min({turns.size(), burst.buffers().size(), std::size_t{most}}));
  std::array<Duration, FlowBurst::kBurst> next;
  Round round{turns, next, std::min(scheduler_.row_until(), elapsed + Duration{1}), elapsed};
  while (round.taken < turns.size()) {
    const HotFlow& source = scheduler_.source(turns[round.taken].flow);
    if (turns[round.taken].at >= round.until || !source.facts().has(FrameInfo::kSingle)) break;
    with_encoder(*source.shape(), stamp,
                 [&](const auto& maker) { make_stretch(burst, round, *source.shape(), maker); });
  }
  if (round.taken > 0) scheduler_.resume(std::span(next).first(round.taken));
  return round.taken;
}

/// The round's next frames of one shape that are counted alike; there is one at least.
template <FieldSet kSet>
void TxLoop::make_stretch(FlowBurst::Filling& burst, Round& round, const HeaderLayout& shape,
                          const FrameEncoder<kSet>& shape_maker) noexcept {
  const auto maker = shape_maker;  // and the rest: this function's own, in registers if it can
  const std::span<const DueFlow> turns = round.turns.subspan(round.taken);
  const std::span<rte_mbuf* const> buffers = burst.buffers();
  const std::span<HotFlow> sources = scheduler_.sources();
  const FrameInfo facts = sources[turns[0].flow].facts();
  const int imprint = buffers_.imprint_offset();
  const std::size_t headers = shape.headers;
  const Duration elapsed = round.elapsed, first = turns[0].at;
  Duration* const next = round.next.data() + round.taken;
  Duration* const late = late_.data();
  std::uint32_t* const flows = burst.flows().data();
  Duration until = round.until;
  std::size_t made = 0;
  for (; made < turns.size(); ++made) {
    const Duration at = turns[made].at;
    const std::uint32_t flow = turns[made].flow;
    HotFlow& source = sources[flow];
    if (at >= until || source.shape() != &shape || source.facts().marks != facts.marks) break;
    SendBuffers::set_lengths(buffers[made], headers, facts.size);
    source.make(maker, SendBuffers::place_in(buffers[made], imprint));
    flows[made] = flow;
    late[flow] = elapsed - at;
    const bool more = source.advance_single() || go_on(flow);
    const Duration due = more ? source.due() : FlowQueue::kNever;
    next[made] = due;
    if (due < until) until = due;
  }
  burst.add(TxGroup::kSeveral, static_cast<std::uint32_t>(made), first, facts);
  round.taken += made;
  round.until = until;
}

}  // namespace lw::gen
