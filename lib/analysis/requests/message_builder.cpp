// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/message_builder.h"

namespace lw::analysis {

using wire::Position;

void MessageBuilder::begin(const Sent& sent, const wire::OpcodeInfo& info) {
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

void MessageBuilder::add(const Sent& sent, const std::optional<Message::Completion>& completion) {
  if (!sent.seen) {
    if (open_) extend(sent);
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
  if (info.position == Position::last || info.position == Position::only) report(completion);
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
