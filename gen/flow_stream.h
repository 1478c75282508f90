// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "gen/fault_plan.h"
#include "gen/template_set.h"

namespace lw::gen {

/// What a frame adds to its flow, for the pacer.
struct Work {
  std::uint64_t wire_bytes = 0;     // gap and all
  std::uint64_t payload_bytes = 0;  // pad not counted
  std::uint32_t packets = 1;        // of its message
  bool ends_message = true;
};

/// A flow's frames, one after the other: what its messages say, packet by packet, with the faults
/// that were asked for. Message sizes and faults are drawn from the seed of `payloads`, the flow's
/// name and their number, so that one QP's frames hang on nothing else.
class FlowStream {
 public:
  /// `flow`, `tables` and `payloads` must outlive it.
  FlowStream(const profile::Flow& flow, PatchTables& tables, PayloadPool& payloads);

  /// False after the last frame of the last message.
  [[nodiscard]] bool has_next() const noexcept { return !messages_ || message_ < *messages_; }

  // The next frame. Only while has_next(). Its send time is the sender's to fill in.
  [[nodiscard]] const FrameTemplate& frame() const noexcept { return *frame_; }
  [[nodiscard]] const Moving& moving() const noexcept { return moving_; }
  [[nodiscard]] bool ends_message() const noexcept {
    return packet_ + 1 == packets_ && !is_inserted();
  }
  [[nodiscard]] std::optional<profile::FaultKind> fault() const noexcept { return fault_; }
  [[nodiscard]] Work work() const noexcept;

  void advance() noexcept;

  /// Frames that the whole flow has; nothing when it goes on until it is stopped. Only where
  /// is_regular().
  [[nodiscard]] std::optional<std::uint64_t> total_frames() const noexcept;
  /// Whether all messages have as many frames, so that total_frames() needs no walk.
  [[nodiscard]] bool is_regular() const noexcept;

 private:
  [[nodiscard]] Place place() const noexcept;
  [[nodiscard]] bool is_inserted() const noexcept {
    return fault_ == profile::FaultKind::middle_without_first;
  }
  void begin_message() noexcept;
  void begin_packet() noexcept;
  void choose_fault() noexcept;
  void bend(profile::FaultKind kind) noexcept;
  [[nodiscard]] std::uint32_t payload_length() const noexcept;

  const profile::Flow& flow_;
  TemplateSet templates_;
  Chance sizes_;
  std::unique_ptr<FaultPlan> faults_;
  std::optional<std::uint64_t> messages_;
  roce::Message now_;  // the message under way; its first PSN is message_psn_
  std::uint32_t packets_ = 1, psns_ = 1;
  bool asks_for_acks_;

  std::uint64_t message_ = 0, frame_number_ = 0;
  std::uint32_t packet_ = 0;
  std::uint64_t va_slot_ = 0;
  wire::Psn message_psn_, last_psn_;
  std::optional<profile::FaultKind> fault_;
  const FrameTemplate* frame_ = nullptr;
  Moving moving_;
};

/// What a frame of `size` bytes takes on the wire: padded to Ethernet's minimum, with preamble,
/// FCS and the smallest gap.
constexpr std::uint64_t wire_bytes(std::size_t size) noexcept {
  return (size < wire::kEthernetMinimum ? wire::kEthernetMinimum : size) + wire::kEthernetOverhead;
}

}  // namespace lw::gen
