// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/trial_count.h"

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

/// Mean time between two frames of a profile that are due within `span`.
Duration gap_of(const config::FlowProfile& profile, Duration span) {
  double frames = 0;
  for (const config::Flow& flow : profile.flows)
    frames += static_cast<double>(flow.messages) * flow.means.frames;
  return Duration{
      static_cast<std::int64_t>(static_cast<double>(span.count()) / std::max(frames, 1.0))};
}

}  // namespace

TrialCount::TrialCount(const config::FlowProfile& profile, Duration span)
    : delay_(span), stand_still_(gap_of(profile, span)) {
  for (const config::Flow& flow : profile.flows) {
    run_ = flow.origin.run;
    plain_.try_emplace(plain_stream(flow), flows_.size());
    FlowState& state = flows_.emplace_back();
    state.first_psn = flow.message.first_psn;
    state.psns = psns_of_frame(flow.message);
  }
}

bool TrialCount::take(wire::Bytes frame, Instant now) {
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
    take_signed(signature->fields(), now);
  } else {
    take_plain(envelope);
  }
  return true;
}

void TrialCount::take_signed(const wire::SignatureFields& signature, Instant now) {
  if (signature.run != run_) {
    ++counts_.earlier;
  } else if (signature.flow >= flows_.size()) {
    ++counts_.other;
  } else {
    FlowState& flow = flows_[signature.flow];
    const Instant sent = instant_from_ns(static_cast<std::int64_t>(signature.send_time_ns));
    delay_.add(sent, now - sent);
    stand_still_.add(sent, now);
    count(flow, flow.by_signature.take(signature.sequence));
  }
}

void TrialCount::take_plain(const roce::Envelope& envelope) {
  const auto frame = roce::parse(envelope);
  const auto known = frame ? plain_.find(plain_stream(*frame)) : plain_.end();
  if (known == plain_.end()) {
    ++counts_.other;
    return;
  }
  FlowState& flow = flows_[known->second];
  if (flow.psns == 0) return count(flow, {});
  const auto psns = unwrapped(flow.first_psn, frame->bth->psn(), flow.by_psn.next() * flow.psns);
  if (!psns) {
    ++counts_.earlier;
    return;
  }
  count(flow, flow.by_psn.take(*psns / flow.psns));
}

void TrialCount::count(FlowState& flow, const analysis::Arrival& arrival) noexcept {
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
