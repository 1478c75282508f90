// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "gen/traffic/fault_plan.h"
#include "gen/traffic/template_set.h"
#include "gen/traffic/work.h"

namespace lw::gen {

/// A flow's frames, one after the other: what its messages say, packet by packet, with the faults
/// that were asked for. Message sizes and faults are drawn from the seed of `payloads`, the flow's
/// name and their number, so that one QP's frames hang on nothing else.
class FlowCursor {
 public:
  /// `flow`, `shapes` and `payloads` must outlive it.
  FlowCursor(const config::Flow& flow, LayoutCache& shapes, PayloadPool& payloads);

  /// False after the last frame of the last message.
  [[nodiscard]] bool has_next() const noexcept { return endless_ || message_ < messages_; }

  // The next frame. Only while has_next(). Its send time is the sender's to fill in.
  [[nodiscard]] const FrameTemplate& frame() const noexcept { return *frame_; }
  [[nodiscard]] const VariableFields& fields() const noexcept { return moving_; }
  [[nodiscard]] bool ends_message() const noexcept {
    return packet_ + 1 == packets_ && !is_inserted();
  }
  /// Its flow asked for a signature, and there is no room.
  [[nodiscard]] bool lacks_signature() const noexcept {
    return wants_signature_ && !frame_->has_signature(moving_);
  }
  [[nodiscard]] std::optional<config::FaultKind> fault() const noexcept { return fault_; }
  [[nodiscard]] FrameWork work() const noexcept { return work_of(frame_->size(moving_)); }
  /// The same where the frame's size is known.
  [[nodiscard]] FrameWork work_of(std::size_t size) const noexcept {
    return {wire_bytes(size), frame_->payload_length(moving_), packets_, ends_message()};
  }

  void advance() noexcept;

  /// How many frames from the next on differ by even steps and in nothing else, at least 1 and at
  /// most `most`, and by which.
  struct EvenFrames {
    std::uint32_t frames = 1;
    FieldSteps step;
  };
  [[nodiscard]] EvenFrames even_frames(std::uint32_t most) const noexcept;
  /// advance() that many times: at most even_frames().
  void skip(std::uint32_t frames) noexcept;

  /// Frames that the whole flow has; nothing when it goes on until it is stopped. Only where
  /// is_regular().
  [[nodiscard]] std::optional<std::uint64_t> total_frames() const noexcept;
  /// Whether all messages have as many frames, so that total_frames() needs no walk.
  [[nodiscard]] bool is_regular() const noexcept;

 private:
  [[nodiscard]] Place place() const noexcept {
    if (packets_ == 1) return Place::only;
    if (packet_ == 0) return Place::first;
    return packet_ + 1 == packets_ ? Place::last : Place::middle;
  }
  [[nodiscard]] bool is_inserted() const noexcept {
    return fault_ == config::FaultKind::middle_without_first;
  }
  [[nodiscard]] bool is_ack_due() const noexcept {
    return packet_ + 1 == packets_ || (ack_every_ != 0 && (packet_ + 1) % ack_every_ == 0);
  }
  void next_message() noexcept;
  void draw_size() noexcept;
  void size_up() noexcept;
  void begin_packet() noexcept;
  void choose_fault() noexcept;
  void bend(config::FaultKind kind) noexcept;
  void advance_past_faults() noexcept;

  // What every frame needs stands first.
  const FrameTemplate* frame_ = nullptr;
  VariableFields moving_;
  wire::Psn message_psn_;
  std::uint32_t packet_ = 0, packets_ = 1, psns_ = 1;
  std::uint32_t ack_every_, immediate_step_;
  bool asks_for_acks_, sizes_vary_, endless_, wants_signature_;
  std::optional<config::FaultKind> fault_;
  std::uint64_t message_ = 0, messages_ = 0;
  std::uint64_t va_slot_ = 0, va_slots_, va_step_, first_va_;
  std::unique_ptr<FaultPlan> faults_;
  TemplateSet templates_;

  const config::Flow* flow_;
  Chance sizes_;
  roce::Message now_;  // the message under way, but for its first PSN
  std::uint64_t frame_number_ = 0;
  wire::Psn last_psn_;
};

inline void FlowCursor::advance() noexcept {
  if (frame_->has_signature(moving_)) ++moving_.sequence;
  if (faults_) [[unlikely]]
    return advance_past_faults();
  if (++packet_ < packets_) return begin_packet();
  next_message();
}

inline void FlowCursor::next_message() noexcept {
  ++message_;
  message_psn_ = message_psn_ + psns_;
  moving_.va += va_step_;
  if (++va_slot_ >= va_slots_) {
    va_slot_ = 0;
    moving_.va = first_va_;
  }
  ++moving_.msn;
  moving_.immediate += immediate_step_;
  packet_ = 0;
  if (sizes_vary_) draw_size();
  begin_packet();
}

inline void FlowCursor::begin_packet() noexcept {
  if (faults_) [[unlikely]]
    choose_fault();
  moving_.psn = message_psn_ + packet_;
  if (packets_ > 1) frame_ = &templates_.sound(place());
  moving_.ack_req = asks_for_acks_ && is_ack_due();
  if (fault_) [[unlikely]]
    bend(*fault_);
}

}  // namespace lw::gen
