// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "config/flow/fault.h"
#include "gen/traffic/pacer.h"
#include "gen/traffic/template_set.h"
#include "roce/compose.h"

namespace lw::gen {

/// Decides which frames of a QP have which deliberate fault. A frame has at most one, so that no
/// fault hides another; the first one in the profile has priority.
class FaultPlan {
 public:
  /// `faults` must outlive the plan. Draws depend on `seed`, `flow_name` and the fault's kind.
  FaultPlan(const std::vector<config::Fault>& faults, std::uint64_t seed,
            std::string_view flow_name);
  ~FaultPlan();

  /// Returns the fault of frame `frame` of the QP (from 0), which is packet `packet` of a message
  /// of `packets`. Call it once per frame, in order.
  std::optional<config::FaultKind> next(std::uint64_t frame, std::uint32_t packet,
                                        std::uint32_t packets) noexcept;

 private:
  struct Entry;
  std::vector<Entry> entries_;
};

/// True if a fault changes a frame's bytes, rather than its PSN or its position in a message.
constexpr bool is_in_bytes(config::FaultKind kind) noexcept {
  return kind <= config::FaultKind::truncated_bth;
}

/// Applies a fault to a valid frame and updates the ICRC, unless that is the fault. `kind` must be
/// is_in_bytes(), but not truncated_bth.
void apply_fault(config::FaultKind kind, wire::Encapsulation encapsulation,
                 const roce::FrameLayout& layout, wire::MutableBytes frame) noexcept;

/// Size in bytes of a frame that ends after the eighth byte of its BTH.
std::size_t truncated_size(const roce::FrameLayout& layout) noexcept;
/// Writes the first truncated_size() bytes of a frame to `out`, with matching lengths and IPv4
/// checksum, and without an ICRC.
void truncate(wire::Encapsulation encapsulation, const roce::FrameLayout& layout, wire::Bytes frame,
              wire::MutableBytes out) noexcept;

/// Position in a flow: which frame comes next and when it is due, by messages, packets, deliberate
/// faults and pacing. This is the cold part of a flow; HotFlow encodes batches of frames without
/// it. Message sizes and faults are drawn from the seed of `payloads`, the flow's name and the
/// message or frame number, so that a QP's frames depend on nothing else.
class FlowCursor {
 public:
  /// `flow`, `layouts` and `payloads` must outlive the cursor.
  FlowCursor(const config::Flow& flow, LayoutCache& layouts, PayloadPool& payloads);

  /// False after the last message, or once no frame is due before `stop_after`.
  [[nodiscard]] bool has_next() const noexcept {
    return (endless_ || message_ < messages_) && !pacer_.ended();
  }
  [[nodiscard]] const Pacer& pacer() const noexcept { return pacer_; }

  // Properties of the next frame. Require has_next().
  [[nodiscard]] const FrameTemplate& frame() const noexcept { return *frame_; }
  /// The frame's variable fields, without the send time.
  [[nodiscard]] const VariableFields& fields() const noexcept { return fields_; }
  [[nodiscard]] bool ends_message() const noexcept {
    return packet_ + 1 == packets_ && !is_inserted();
  }
  /// True if the flow has signatures and the payload is too short for one.
  [[nodiscard]] bool lacks_signature() const noexcept {
    return wants_signature_ && !frame_->has_signature(fields_);
  }
  [[nodiscard]] std::optional<config::FaultKind> fault() const noexcept { return fault_; }

  /// Moves to the next frame. Returns has_next().
  bool advance() noexcept { return skip(1); }
  /// Calls advance() `frames` times; at most the frames of a batch.
  bool skip(std::uint32_t frames) noexcept;

  /// Starts a batch of at most `most` frames with the next one: consecutive frames of one template
  /// whose variable fields and due times differ by constant steps, and in nothing else. Returns its
  /// length and due times, and sets `step`. The cursor stays at the first frame.
  Pacer::EvenPace begin_batch(std::uint32_t most, FieldSteps& step) noexcept;
  /// Moves past the batch. Returns has_next().
  bool end_batch() noexcept;
  /// Number of frames in the cursor's present batch; 0 after the flow's last batch.
  [[nodiscard]] std::uint32_t batch_frames() const noexcept { return batch_frames_; }

  /// Numbers that frames consume, and give back when they are not sent.
  struct Numbers {
    std::uint64_t sequence = 0;  // of signatures
    std::uint32_t psns = 0;
  };
  /// Returns the numbers that the flow's last `frames` frames have consumed. All of them have this
  /// `fault` and `is_signed`. For the frames before them, call it again: each call steps back
  /// further.
  [[nodiscard]] Numbers consumed(std::uint64_t frames, std::optional<config::FaultKind> fault,
                                 bool is_signed) noexcept;
  /// Gives the numbers of frames that were not sent to the next frames.
  void take_back(const Numbers& numbers) noexcept;

  /// Frames of the whole flow; nothing if it is endless. Requires is_regular().
  [[nodiscard]] std::optional<std::uint64_t> total_frames() const noexcept;
  /// True if all messages have the same number of frames.
  [[nodiscard]] bool is_regular() const noexcept;

 private:
  [[nodiscard]] PacketPosition position() const noexcept {
    if (packets_ == 1) return PacketPosition::only;
    if (packet_ == 0) return PacketPosition::first;
    return packet_ + 1 == packets_ ? PacketPosition::last : PacketPosition::middle;
  }
  [[nodiscard]] bool is_inserted() const noexcept {
    return fault_ == config::FaultKind::middle_without_first;
  }
  [[nodiscard]] bool is_ack_due() const noexcept {
    return packet_ + 1 == packets_ || (ack_every_ != 0 && (packet_ + 1) % ack_every_ == 0);
  }
  [[nodiscard]] FrameWork work() const noexcept {
    return {wire_bytes(frame_->size(fields_)), frame_->payload_length(fields_), packets_,
            ends_message()};
  }
  [[nodiscard]] std::uint32_t psns_of_earlier(std::uint64_t messages) noexcept;
  [[nodiscard]] std::uint32_t even_frames(std::uint32_t most, FieldSteps& step) const noexcept;
  void skip_packets(std::uint32_t frames) noexcept;
  void next_packet() noexcept;
  void next_message() noexcept;
  void draw_size() noexcept;
  void set_size() noexcept;
  void begin_packet() noexcept;
  void choose_fault() noexcept;
  void apply_fault_to_packet(config::FaultKind kind) noexcept;
  void next_packet_after_fault() noexcept;

  Pacer pacer_;
  // The fields that every frame needs are first.
  const FrameTemplate* frame_ = nullptr;
  VariableFields fields_;
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
  roce::MessageFields now_;  // the current message, without its first PSN
  std::uint64_t frame_number_ = 0;
  wire::Psn last_psn_;
  std::uint32_t batch_frames_ = 1;
  std::uint64_t stepped_at_ = 0, stepped_ = 0;  // consumed(): message_, and messages before it
};

}  // namespace lw::gen
