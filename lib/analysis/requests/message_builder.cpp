// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/message_builder.h"

#include "analysis/qp_flows.h"

namespace lw::analysis {

using wire::Position;

/// Number of packets of the message that begins with `first`; 0: nothing tells.
std::uint32_t MessageBuilder::packets_of(const Sent& first) const noexcept {
  const Position position = wire::find_opcode(first.opcode)->position;
  if (first.span > 1) return first.span;  // a READ
  if (position == Position::only) return 1;
  const std::uint32_t mtu = position == Position::first && first.payload > 0 ? first.payload : mtu_;
  if (first.has_reth && mtu > 0) return read_span(first.dma_length, mtu);
  return unlike_ ? 0 : usual_;
}

void MessageBuilder::begin(const Sent& sent, const wire::OpcodeInfo& info) {
  const bool whole = info.position == Position::first || info.position == Position::only;
  const bool single = info.position == Position::only && sent.span == 1;
  expected_ = single ? 1 : whole ? packets_of(sent) : 0;
  if (expected_ > 0) rate_.add_message(expected_);
  open_.emplace();
  open_->session = session_;
  open_->direction = direction_;
  open_->transport = info.transport;
  open_->operation = info.operation;
  open_->first_psn = static_cast<std::uint32_t>(sent.psn & wire::Psn::kMask);
  open_->first_frame = open_->last_frame = sent.frame;
  open_->first_stamp = open_->last_stamp = sent.stamp;
  open_->va = sent.va;
  open_->r_key = sent.r_key;
  open_->has_address = sent.has_reth || info.operation == wire::Operation::cmp_swap ||
                       info.operation == wire::Operation::fetch_add;
}

void MessageBuilder::extend(const Sent& sent) {
  Message& message = *open_;
  message.packets += sent.span;
  message.resent += sent.copies;
  if (!sent.seen) {
    message.partial = true;
    return;
  }
  message.bytes +=
      message.operation == wire::Operation::read_request ? sent.dma_length : sent.payload;
  message.last_frame = sent.frame;
  message.last_stamp = sent.stamp;
  if (sent.has_immediate) {
    message.has_immediate = true;
    message.immediate = sent.immediate;
  }
}

/// Ends the open message within a gap, if it has no more packets than fit before the gap's end. The
/// rest of the gap belongs to others.
void MessageBuilder::end_within(const Sent& gap) {
  const std::uint32_t left = expected_ > open_->packets ? expected_ - open_->packets : 0;
  if (expected_ == 0 || left > gap.span) return extend(gap);
  Sent own = gap;
  own.span = left;
  extend(own);
  report({});
}

void MessageBuilder::add(const Sent& sent, const std::optional<Message::Completion>& completion) {
  if (!sent.seen) {
    if (open_) end_within(sent);
    return;
  }
  const wire::OpcodeInfo& info = *wire::find_opcode(sent.opcode);
  const bool begins = info.position == Position::first || info.position == Position::only;
  if (begins && open_) {
    open_->partial = true;  // its end is in a gap
    report({});
  }
  if (!open_) {
    begin(sent, info);
    open_->partial = !begins;
  }
  extend(sent);
  if (info.position != Position::last && info.position != Position::only) return;
  const bool repeats =
      info.transport != wire::Transport::uc && info.transport != wire::Transport::ud;
  if (open_->partial && !repeats) return report({});
  if (!open_->partial && info.operation == wire::Operation::send) {
    unlike_ = unlike_ || (usual_ != 0 && usual_ != open_->packets);
    usual_ = open_->packets;
  }
  report(completion);
}

void MessageBuilder::report(const std::optional<Message::Completion>& completion) {
  open_->completion = completion;
  ++messages_;
  results_.completed(*open_);
  open_.reset();
}

void MessageBuilder::finish() {
  if (!open_) return;
  open_->partial = true;
  report({});
}

}  // namespace lw::analysis
