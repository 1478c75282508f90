// SPDX-License-Identifier: BSD-3-Clause
#include "gen/flow_stream.h"

#include <algorithm>
#include <limits>

#include "gen/frame_fault.h"

namespace lw::gen {
namespace {

using profile::FaultKind;

/// A CNP stands outside the PSN stream: its PSN is always 0.
std::uint32_t psns_of(const roce::Message& message) {
  return message.operation == wire::Operation::cnp ? 0 : psn_count(message);
}

/// More than 2^64 of anything is as good as no end.
std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                : product;
}

std::optional<std::uint64_t> all_messages(const profile::Flow& flow) {
  if (!flow.repeat) return std::nullopt;
  return saturating_product(flow.messages, *flow.repeat);
}

bool adds_frames(const profile::Fault& fault) {
  return fault.kind == FaultKind::first_after_first ||
         fault.kind == FaultKind::middle_without_first;
}

}  // namespace

FlowStream::FlowStream(const profile::Flow& flow, PatchTables& tables, PayloadPool& payloads)
    : flow_(flow),
      templates_(flow, tables, payloads),
      sizes_(payloads.seed(), hash_name(full_name(flow))),
      messages_(all_messages(flow)),
      now_(flow.message),
      asks_for_acks_(packet_of(flow.message, packet_count(flow.message) - 1).ack_req),
      message_psn_(flow.message.first_psn) {
  if (flow.faults) {
    faults_ = std::make_unique<FaultPlan>(*flow.faults, payloads.seed(), full_name(flow));
  }
  packets_ = packet_count(now_);
  psns_ = psns_of(now_);
  moving_.dma_length = static_cast<std::uint32_t>(now_.length);
  begin_message();
}

Place FlowStream::place() const noexcept {
  if (packets_ == 1) return Place::only;
  if (packet_ == 0) return Place::first;
  return packet_ + 1 == packets_ ? Place::last : Place::middle;
}

void FlowStream::begin_message() noexcept {
  if (flow_.sizes.vary()) {
    now_.length = flow_.sizes.draw(sizes_, message_);
    packets_ = packet_count(now_);
    psns_ = psns_of(now_);
    moving_.dma_length = static_cast<std::uint32_t>(now_.length);
  }
  moving_.va = flow_.frame.reth.va + va_slot_ * flow_.va_step;
  moving_.msn = flow_.frame.aeth.msn + static_cast<std::uint32_t>(message_);
  moving_.immediate =
      flow_.frame.immdt.immediate + static_cast<std::uint32_t>(message_) * flow_.immediate_step;
  packet_ = 0;
  begin_packet();
}

void FlowStream::begin_packet() noexcept {
  if (faults_) choose_fault();
  frame_ = &templates_.sound(place());
  moving_.psn = message_psn_ + packet_;
  moving_.payload = payload_length();
  const std::uint32_t every = flow_.message.ack_every;
  const bool due = packet_ + 1 == packets_ || (every != 0 && (packet_ + 1) % every == 0);
  moving_.ack_req = asks_for_acks_ && due;
  if (fault_) bend(*fault_);
}

/// Faults in the stream are put into its state here, so that what follows goes on from them.
void FlowStream::choose_fault() noexcept {
  fault_ = faults_->next({frame_number_, packet_, packets_});
  if (fault_ == FaultKind::psn_gap) message_psn_ = message_psn_ + 1;
  if (fault_ == FaultKind::duplicate_psn) message_psn_ = last_psn_ - packet_;
  if (fault_ == FaultKind::first_after_first) {
    message_psn_ = message_psn_ + packet_;
    packet_ = 0;
  }
}

/// Faults in the frame.
void FlowStream::bend(FaultKind kind) noexcept {
  if (is_in_bytes(kind) || kind == FaultKind::short_middle) {
    frame_ = &templates_.faulty(kind, place());
  } else if (is_inserted()) {
    frame_ = &templates_.sound(Place::middle);
    moving_.ack_req = false;
  }
}

/// Of a message's last packet; those before it have the MTU, as their templates know.
std::uint32_t FlowStream::payload_length() const noexcept {
  return static_cast<std::uint32_t>(now_.length - std::uint64_t{packets_ - 1} * now_.mtu);
}

Work FlowStream::work() const noexcept {
  return {wire_bytes(frame_->size(moving_)), frame_->payload_length(moving_), packets_,
          ends_message()};
}

void FlowStream::advance() noexcept {
  if (frame_->has_signature(moving_)) ++moving_.sequence;
  ++frame_number_;
  last_psn_ = moving_.psn;
  if (is_inserted()) {
    message_psn_ = message_psn_ + 1;
    return begin_packet();
  }
  if (++packet_ < packets_) return begin_packet();
  ++message_;
  message_psn_ = message_psn_ + psns_;
  if (++va_slot_ >= flow_.va_slots) va_slot_ = 0;
  begin_message();
}

bool FlowStream::is_regular() const noexcept {
  if (flow_.sizes.vary()) return false;
  return !flow_.faults || std::ranges::none_of(*flow_.faults, adds_frames);
}

std::optional<std::uint64_t> FlowStream::total_frames() const noexcept {
  if (!messages_) return std::nullopt;
  return saturating_product(*messages_, packets_);
}

}  // namespace lw::gen
