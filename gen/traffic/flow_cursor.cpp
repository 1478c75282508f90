// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/flow_cursor.h"

#include <algorithm>
#include <limits>

#include "gen/traffic/frame_fault.h"

namespace lw::gen {
namespace {

using config::FaultKind;

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

bool adds_frames(const config::Fault& fault) {
  return fault.kind == FaultKind::first_after_first ||
         fault.kind == FaultKind::middle_without_first;
}

}  // namespace

FlowCursor::FlowCursor(const config::Flow& flow, LayoutCache& shapes, PayloadPool& payloads)
    : message_psn_(flow.message.first_psn),
      ack_every_(flow.message.ack_every),
      immediate_step_(flow.immediate_step),
      asks_for_acks_(packet_of(flow.message, packet_count(flow.message) - 1).ack_req),
      sizes_vary_(flow.sizes.vary()),
      endless_(!flow.repeat),
      wants_signature_(flow.signature),
      messages_(saturating_product(flow.messages, flow.repeat.value_or(0))),
      va_slots_(flow.va_slots),
      va_step_(flow.va_step),
      first_va_(flow.frame.reth.va),
      templates_(flow, shapes, payloads),
      flow_(&flow),
      sizes_(payloads.seed(), hash_name(full_name(flow))),
      now_(flow.message) {
  if (flow.faults) {
    faults_ = std::make_unique<FaultPlan>(*flow.faults, payloads.seed(), full_name(flow));
  }
  moving_.va = first_va_;
  moving_.msn = flow.frame.aeth.msn;
  moving_.immediate = flow.frame.immdt.immediate;
  sizes_vary_ ? draw_size() : size_up();
  begin_packet();
}

void FlowCursor::draw_size() noexcept {
  now_.length = flow_->sizes.draw(sizes_, message_);
  size_up();
}

void FlowCursor::size_up() noexcept {
  packets_ = packet_count(now_);
  psns_ = psns_of(now_);
  moving_.dma_length = static_cast<std::uint32_t>(now_.length);
  // Of the message's last packet; those before it have the MTU, as their templates know.
  moving_.payload =
      static_cast<std::uint32_t>(now_.length - std::uint64_t{packets_ - 1} * now_.mtu);
  if (packets_ == 1) frame_ = &templates_.sound(Place::only);
}

/// Faults in the stream are put into its state here, so that what follows goes on from them.
void FlowCursor::choose_fault() noexcept {
  frame_ = &templates_.sound(place());  // the last one's may have been a faulty one
  fault_ = faults_->next({frame_number_, packet_, packets_});
  if (fault_ == FaultKind::psn_gap) message_psn_ = message_psn_ + 1;
  if (fault_ == FaultKind::duplicate_psn) message_psn_ = last_psn_ - packet_;
  if (fault_ == FaultKind::first_after_first) {
    message_psn_ = message_psn_ + packet_;
    packet_ = 0;
  }
}

/// Faults in the frame.
void FlowCursor::bend(FaultKind kind) noexcept {
  if (is_in_bytes(kind) || kind == FaultKind::short_middle) {
    frame_ = &templates_.faulty(kind, place());
  } else if (is_inserted()) {
    frame_ = &templates_.sound(Place::middle);
    moving_.ack_req = false;
  }
}

void FlowCursor::advance_past_faults() noexcept {
  ++frame_number_;
  last_psn_ = moving_.psn;
  if (is_inserted()) {
    message_psn_ = message_psn_ + 1;
  } else if (++packet_ == packets_) {
    return next_message();
  }
  begin_packet();
}

FlowCursor::EvenFrames FlowCursor::even_frames(std::uint32_t most) const noexcept {
  std::uint64_t frames = most;
  if (faults_ || frame_->shape() == nullptr) return {};
  if (packets_ > 1) {
    if (place() != Place::middle) return {};
    frames = std::min<std::uint64_t>(frames, packets_ - 1 - packet_);
    if (asks_for_acks_ && ack_every_ != 0) {  // AckReq stays as it is
      const std::uint32_t until_ack = ack_every_ - (packet_ + 1) % ack_every_;
      frames = std::min<std::uint64_t>(frames, moving_.ack_req ? 1 : until_ack);
    }
    return {static_cast<std::uint32_t>(frames), {.psn = 1}};
  }
  if (sizes_vary_ || va_step_ > std::numeric_limits<std::uint32_t>::max()) return {};
  if (!endless_) frames = std::min(frames, messages_ - message_);
  frames = std::min(frames, va_slots_ - va_slot_);
  return {static_cast<std::uint32_t>(frames),
          {.psn = psns_, .va = static_cast<std::uint32_t>(va_step_), .immediate = immediate_step_}};
}

void FlowCursor::skip(std::uint32_t frames) noexcept {
  // All but the last by their steps, and that one as any other.
  if (const std::uint32_t before = frames - 1; before > 0) {
    if (frame_->has_signature(moving_)) moving_.sequence += before;
    if (packets_ > 1) {
      packet_ += before;
    } else {
      message_ += before;
      message_psn_ = message_psn_ + before * psns_;
      moving_.va += before * va_step_;
      va_slot_ += before;
      moving_.msn += before;
      moving_.immediate += before * immediate_step_;
    }
  }
  advance();
}

bool FlowCursor::is_regular() const noexcept {
  if (flow_->sizes.vary()) return false;
  return !flow_->faults || std::ranges::none_of(*flow_->faults, adds_frames);
}

std::optional<std::uint64_t> FlowCursor::total_frames() const noexcept {
  if (endless_) return std::nullopt;
  return saturating_product(messages_, packets_);
}

}  // namespace lw::gen
