// SPDX-License-Identifier: BSD-3-Clause
#include "roce/reassembly.h"

namespace lw::roce {
namespace {

using wire::Operation;
using wire::Position;

bool starts(Position position) noexcept {
  return position == Position::first || position == Position::only;
}
bool ends(Position position) noexcept {
  return position == Position::last || position == Position::only;
}

/// How far the next packet of the stream is ahead of this one. A READ REQUEST's response takes
/// its PSNs from the same space.
std::uint32_t psns_taken(const Frame& frame, std::uint32_t mtu) noexcept {
  if (frame.info->operation != Operation::read_request) return 1;
  Message read;
  read.operation = Operation::read_request;
  read.mtu = mtu;
  read.length = frame.reth->dma_length.get();
  return psn_count(read);
}

}  // namespace

std::string_view name_of(Violation violation) noexcept {
  switch (violation) {
    case Violation::none:
      return "none";
    case Violation::unknown_opcode:
      return "unknown opcode";
    case Violation::psn_gap:
      return "PSN gap";
    case Violation::psn_repeated:
      return "PSN repeated";
    case Violation::first_within:
      return "FIRST or ONLY within a message";
    case Violation::continues_nothing:
      return "MIDDLE or LAST without a FIRST";
    case Violation::changes_operation:
      return "operation changes within a message";
    case Violation::wrong_length:
      return "payload length not allowed at this position";
    case Violation::dma_length_differs:
      return "message length differs from RETH";
  }
  return {};
}

Violation Reassembler::check_order(const Frame& frame) const noexcept {
  if (expected_) {
    const std::int32_t ahead = wire::Psn::distance(*expected_, frame.bth->psn());
    if (ahead != 0) return ahead > 0 ? Violation::psn_gap : Violation::psn_repeated;
  }
  const bool begins = starts(frame.info->position);
  if (begins && open_) return Violation::first_within;
  if (!begins && !open_) return Violation::continues_nothing;
  if (!begins && open_->message.operation != frame.info->operation) {
    return Violation::changes_operation;
  }
  return Violation::none;
}

Violation Reassembler::check_lengths(const Frame& frame) const noexcept {
  const std::size_t length = frame.payload_length;
  const bool full = length == mtu_ && frame.bth->pad_count() == 0;
  bool right = true;
  switch (frame.info->position) {
    case Position::first:
      right = frame.bth->pad_count() == 0 && length > 0;
      break;
    case Position::middle:
      right = full;
      break;
    case Position::last:
      right = length >= 1 && length <= mtu_;
      break;
    case Position::only:
      break;
  }
  return right ? Violation::none : Violation::wrong_length;
}

void Reassembler::begin(const Frame& frame) noexcept {
  if (frame.info->position == Position::first) {
    mtu_ = static_cast<std::uint32_t>(frame.payload_length);
  }
  open_.emplace();
  open_->message.transport = frame.info->transport;
  open_->message.operation = frame.info->operation;
  open_->message.mtu = mtu_;
  open_->message.first_psn = frame.bth->psn();
  if (frame.reth) open_->reth = frame.reth->fields();
}

Violation Reassembler::finish(const Frame& frame, Outcome& outcome) noexcept {
  Message& message = open_->message;
  message.solicited_event = frame.bth->solicited_event();
  message.immediate = frame.immdt != nullptr;
  message.invalidate = frame.ieth != nullptr;
  if (frame.immdt) open_->immediate = frame.immdt->immediate.get();
  if (frame.ieth) open_->invalidated_r_key = frame.ieth->r_key.get();

  const bool asks =
      message.operation == Operation::read_request || message.operation == Operation::flush;
  if (asks) message.length = open_->reth->dma_length;
  const bool differs = message.operation == Operation::write && open_->reth &&
                       open_->reth->dma_length != message.length;
  if (!differs) outcome.completed = *open_;
  open_.reset();
  return differs ? Violation::dma_length_differs : Violation::none;
}

Reassembler::Outcome Reassembler::add(const Frame& frame) noexcept {
  Outcome outcome;
  if (!frame.info) {
    outcome.violation = Violation::unknown_opcode;
    return outcome;
  }
  outcome.violation = check_order(frame);
  if (outcome.violation == Violation::psn_repeated) return outcome;
  if (outcome.violation == Violation::none) outcome.violation = check_lengths(frame);
  expected_ = frame.bth->psn() + psns_taken(frame, mtu_);

  if (outcome.violation != Violation::none) open_.reset();
  if (starts(frame.info->position)) begin(frame);
  if (!open_) return outcome;
  outcome.offset = open_->message.length;
  open_->message.length += frame.payload_length;
  if (ends(frame.info->position)) {
    const Violation at_end = finish(frame, outcome);
    if (outcome.violation == Violation::none) outcome.violation = at_end;
  }
  return outcome;
}

}  // namespace lw::roce
