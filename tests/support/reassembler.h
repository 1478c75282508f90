// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "roce/message.h"

/// Messages from their packets, by the rules of the standard: what tests compare packet_of() and
/// captures with.
namespace lw::test {

using roce::Frame, roce::MessageFields;
using wire::Position;

/// Why a packet doesn't follow the packets before it. (IBTA vol. 1, 9.7.4 and 9.8.3)
enum class Violation : std::uint8_t {
  none,
  unknown_opcode,
  psn_gap,             // ahead of the expected PSN
  psn_repeated,        // behind the expected PSN
  first_within,        // FIRST or ONLY while a message is open
  continues_nothing,   // MIDDLE or LAST with no message open
  changes_operation,   // MIDDLE or LAST of another operation than the FIRST
  wrong_length,        // FIRST or MIDDLE isn't MTU long, LAST is empty or longer, or an illegal pad
  dma_length_differs,  // a WRITE's RETH announced another length
};

/// A message received completely.
struct ReceivedMessage {
  MessageFields message;  // `mtu` is the FIRST's payload length; for an ONLY, the configured one
  std::optional<wire::RethFields> reth;
  std::optional<std::uint32_t> immediate;
  std::optional<std::uint32_t> invalidated_r_key;
};

/// Reassembles the packets of one stream (a QP's requests, or its responses) into messages. Stores
/// no payload: Outcome::offset says where a packet's payload belongs. Reads no clock and allocates
/// nothing.
class Reassembler {
 public:
  /// `mtu`: largest payload of a packet, until a FIRST packet shows the path MTU.
  explicit Reassembler(std::uint32_t mtu = 4096) noexcept : mtu_(mtu) {}

  struct Outcome {
    Violation violation = Violation::none;
    std::uint64_t offset = 0;                  // of this packet's payload in its message
    std::optional<ReceivedMessage> completed;  // by this packet
  };

  /// Adds the next packet of the stream. A violation drops the open message, and the stream
  /// continues after this packet; psn_repeated changes nothing. `frame` must have no defect.
  Outcome add(const Frame& frame) noexcept;

 private:
  Violation check_order(const Frame& frame) const noexcept;
  Violation check_lengths(const Frame& frame) const noexcept;
  void begin(const Frame& frame) noexcept;
  Violation finish(const Frame& frame, Outcome& outcome) noexcept;

  std::uint32_t mtu_;
  std::optional<wire::Psn> expected_;
  std::optional<ReceivedMessage> open_;
};

inline bool starts(Position position) noexcept {
  return position == Position::first || position == Position::only;
}
inline bool ends(Position position) noexcept {
  return position == Position::last || position == Position::only;
}

/// Distance in PSNs from this packet to the stream's next one. A READ REQUEST's response takes its
/// PSNs from the same space.
inline std::uint32_t psns_taken(const Frame& frame, std::uint32_t mtu) noexcept {
  if (frame.info->operation != wire::Operation::read_request) return 1;
  MessageFields read;
  read.operation = wire::Operation::read_request;
  read.mtu = mtu;
  read.length = frame.reth->dma_length.get();
  return psn_count(read);
}

inline Violation Reassembler::check_order(const Frame& frame) const noexcept {
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

inline Violation Reassembler::check_lengths(const Frame& frame) const noexcept {
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

inline void Reassembler::begin(const Frame& frame) noexcept {
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

inline Violation Reassembler::finish(const Frame& frame, Outcome& outcome) noexcept {
  MessageFields& message = open_->message;
  message.solicited_event = frame.bth->solicited_event();
  message.immediate = frame.immdt != nullptr;
  message.invalidate = frame.ieth != nullptr;
  if (frame.immdt) open_->immediate = frame.immdt->immediate.get();
  if (frame.ieth) open_->invalidated_r_key = frame.ieth->r_key.get();

  const bool asks = message.operation == wire::Operation::read_request ||
                    message.operation == wire::Operation::flush;
  if (asks) message.length = open_->reth->dma_length;
  const bool differs = message.operation == wire::Operation::write && open_->reth &&
                       open_->reth->dma_length != message.length;
  if (!differs) outcome.completed = *open_;
  open_.reset();
  return differs ? Violation::dma_length_differs : Violation::none;
}

inline Reassembler::Outcome Reassembler::add(const Frame& frame) noexcept {
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

}  // namespace lw::test
