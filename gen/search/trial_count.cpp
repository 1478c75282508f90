// SPDX-License-Identifier: BSD-3-Clause
#include "gen/search/trial_count.h"

#include <algorithm>
#include <cmath>

#include "roce/message.h"

namespace lw::gen {
namespace {

/// Returns the 64-bit number of a PSN, nearest to `next`; nothing if it is before the first.
std::optional<std::uint64_t> unwrapped(wire::Psn first, wire::Psn psn, std::uint64_t next) {
  const wire::Psn expected = first + static_cast<std::uint32_t>(next & wire::Psn::kMask);
  const std::int64_t number = static_cast<std::int64_t>(next) + wire::Psn::distance(expected, psn);
  if (number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

std::uint32_t psns_of_frame(const roce::MessageFields& message) {
  if (message.operation == wire::Operation::cnp) return 0;
  return message.operation == wire::Operation::read_request ? psn_count(message) : 1;
}

std::uint64_t frames_of(const config::Flow& flow) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(
                                        static_cast<double>(flow.messages) * flow.means.frames)));
}

std::uint64_t frames_of(const config::FlowProfile& profile) {
  std::uint64_t sum = 0;
  for (const config::Flow& flow : profile.flows) sum += frames_of(flow);
  return std::max<std::uint64_t>(sum, 1);
}

Duration gap_of(std::uint64_t frames, Duration span) {
  return span / static_cast<std::int64_t>(frames);
}

/// Longest time between two frames of a sender that does not stand still. Gaps of a Poisson process
/// are longer than 16 times their mean in one of nine million.
Duration longest_gap(const config::Flow& flow, Duration gap) {
  const bool regular = flow.arrival == config::ArrivalProcess::constant;
  return std::max(StandStill::kShortest, (regular ? 4 : 16) * gap);
}

}  // namespace

TrialCount::TrialCount(const config::FlowProfile& profile, Duration span)
    : parts_(frames_of(profile), span), stand_still_(gap_of(frames_of(profile), span)) {
  for (const config::Flow& flow : profile.flows) {
    run_ = flow.origin.run;
    plain_.try_emplace(plain_stream(flow), flows_.size());
    FlowState& state = flows_.emplace_back();
    state.first_psn = flow.message.first_psn;
    state.psns = psns_of_frame(flow.message);
    state.due = frames_of(flow);
    state.gap = gap_of(state.due, span);
    state.silence = longest_gap(flow, state.gap);
  }
}

bool TrialCount::count_frame(wire::Bytes frame, Instant now) {
  const roce::Envelope envelope = roce::open_envelope(frame);
  if (!envelope.is_roce()) return false;
  if (roce::check_icrc(envelope) != roce::IcrcVerdict::ok) {
    ++counts_.bad_icrc;
    return true;
  }
  const auto* bth = wire::view_at<wire::Bth>(envelope.bytes, envelope.bth_offset());
  const auto* info = bth != nullptr ? wire::find_opcode(bth->opcode.get()) : nullptr;
  const auto* signature = info != nullptr ? signature_of(envelope, *bth, *info) : nullptr;
  if (signature != nullptr) {
    count_signed(signature->fields(), now);
  } else {
    count_plain(envelope);
  }
  return true;
}

void TrialCount::count_signed(const wire::SignatureFields& signature, Instant now) {
  if (signature.run != run_) {
    ++counts_.earlier;
  } else if (signature.flow >= flows_.size()) {
    ++counts_.other;
  } else {
    FlowState& flow = flows_[signature.flow];
    note_times(flow, signature, now);
    count_arrival(flow, signature.sequence, flow.by_signature.add(signature.sequence));
  }
}

/// Takes the times of a frame of this process; a stranger's may have any.
void TrialCount::note_times(FlowState& flow, const wire::SignatureFields& signature, Instant now) {
  constexpr Duration kLongest = std::chrono::hours(1);
  const auto now_ns = static_cast<std::uint64_t>(to_ns(now));
  if (signature.send_time_ns > now_ns || signature.sequence >= flow.due) return;
  const Instant sent = instant_from_ns(static_cast<std::int64_t>(signature.send_time_ns));
  if (now - sent > kLongest) return;
  parts_.add_latency(parts_.part_of(signature.sequence, flow.due), now - sent);
  note_stand_still(flow, signature.sequence, sent, now);
}

/// A program on the path delays the frames that it held, and then gets those at once that were sent
/// meanwhile. A sender stood still if a frame is later than the one before it by more than
/// `silence`, beside the time in which the frames between them are due.
void TrialCount::note_stand_still(FlowState& flow, std::uint64_t number, Instant sent,
                                  Instant now) noexcept {
  if (!first_latency_) first_latency_ = now - sent;
  if (const Duration still = stand_still_.add(sent, now); still > Duration{})
    parts_.stand_still(TrialParts::By::path, parts_.part_of(number, flow.due), now - still - sent,
                       still);
  if (flow.last && number <= *flow.last) return;
  if (flow.last) {
    const auto due = static_cast<std::int64_t>(number - *flow.last) * flow.gap;
    if (const Duration late = sent - flow.last_sent - due; late > flow.silence)
      parts_.stand_still(TrialParts::By::sender, parts_.part_of(*flow.last, flow.due), {}, late);
  }
  flow.last = number;
  flow.last_sent = sent;
}

/// A program on the path that stands still when the trial begins shows by its first frame alone.
TrialParts TrialCount::parts() const {
  TrialParts parts = parts_;
  const auto least = parts.least_latency();
  if (!least || !first_latency_) return parts;
  const Duration still = *first_latency_ - *least;
  if (still > StandStill::kShortest) parts.stand_still(TrialParts::By::path, 0, {}, still);
  return parts;
}

void TrialCount::count_plain(const roce::Envelope& envelope) {
  const auto frame = roce::parse(envelope);
  const auto known = frame ? plain_.find(plain_stream(*frame)) : plain_.end();
  if (known == plain_.end()) {
    ++counts_.other;
    return;
  }
  FlowState& flow = flows_[known->second];
  if (flow.psns == 0) return count_arrival(flow, flow.received, {});
  const auto psns = unwrapped(flow.first_psn, frame->bth->psn(), flow.by_psn.next() * flow.psns);
  if (!psns) {
    ++counts_.earlier;
    return;
  }
  count_arrival(flow, *psns / flow.psns, flow.by_psn.add(*psns / flow.psns));
}

void TrialCount::count_arrival(FlowState& flow, std::uint64_t number,
                               const analysis::Arrival& arrival) noexcept {
  using Kind = analysis::Arrival::Kind;
  switch (arrival.kind) {
    case Kind::duplicate:
      ++counts_.duplicated;
      return;
    case Kind::beyond_window:
      ++counts_.unclear;
      return;
    case Kind::late:
      ++counts_.out_of_order;
      break;
    case Kind::in_order:
    case Kind::ahead:
      break;
  }
  parts_.add(parts_.part_of(number, flow.due));
  ++flow.received;
  ++counts_.received;
}

const FigureTable& ArrivalCounts::figures() {
  using Row = FigureOf<ArrivalCounts>;
  static constexpr Figure kRows[] = {
      Row::of<&ArrivalCounts::duplicated>("duplicated", "Copies of frames that had come.",
                                          Unit::frames),
      Row::of<&ArrivalCounts::out_of_order>(
          "out_of_order", "Frames received that came after a later one.", Unit::frames),
      Row::of<&ArrivalCounts::bad_icrc>("bad_icrc", "Damaged frames.", Unit::frames),
      Row::of<&ArrivalCounts::earlier>("earlier", "Frames of an earlier trial.", Unit::frames),
      Row::of<&ArrivalCounts::unclear>(
          "unclear", "Frames too far behind to tell a late one from a copy.", Unit::frames)};
  static constexpr FigureTable kTable{"How frames of a trial arrived.", kRows};
  return kTable;
}

}  // namespace lw::gen
