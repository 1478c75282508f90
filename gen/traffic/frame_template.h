// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "config/flow/fault.h"
#include "gen/traffic/frame_encoder.h"

namespace lw::gen {

class VariableLengthFrame;

struct TemplateOptions {
  bool variable_length = false;      // the payload length is a variable field, at most `payload`
  bool variable_dma_length = false;  // the RETH's DMA length is a variable field
  std::optional<config::FaultKind> fault;  // applied to all frames; must be is_in_bytes()
};

/// A frame that is composed once and then encoded with other variable fields, without reading the
/// payload: each field is written, and its change of the ICRC is looked up. If the payload length
/// varies, each frame is composed from its fields instead.
///
/// The template holds what distinguishes its frames from others of the same HeaderLayout.
class FrameTemplate {
 public:
  /// Bytes that encode() needs before the payload's start (kHeadroom), and from there on for the
  /// largest MTU (kTailroom).
  static constexpr std::size_t kHeadroom = HeaderLayout::kPrefixHeaders;
  static constexpr std::size_t kTailroom = 4096 + wire::kIcrcSize;

  /// `payload` and `layouts` must outlive the template. With `signed_by`, a signature with this
  /// origin word replaces the payload's first 24 bytes, which must exist.
  FrameTemplate(const roce::FrameFields& fields, wire::Bytes payload,
                const std::uint32_t* signed_by, LayoutCache& layouts,
                const TemplateOptions& options = {});
  ~FrameTemplate();

  /// Frame size in bytes, without FCS.
  [[nodiscard]] std::size_t size(const VariableFields& fields) const noexcept {
    return variable_ ? variable_size(fields.payload) : size_;
  }
  /// Frame size in bytes, without FCS. Requires a fixed length.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t payload_length(const VariableFields& fields) const noexcept {
    if (!variable_) return payload_length_;
    return carries_payload_ ? fields.payload : 0;
  }
  [[nodiscard]] bool has_signature(const VariableFields& fields) const noexcept {
    return is_signed_ && (!variable_ || fields.payload >= sizeof(wire::Signature));
  }
  [[nodiscard]] bool has_variable_length() const noexcept { return variable_ != nullptr; }

  /// Writes a whole frame into the first size(fields) bytes of `out`.
  void write(const VariableFields& fields, wire::MutableBytes out) const noexcept;

  /// Like write(), for `out` that holds an earlier frame of this template: writes the variable
  /// fields and the ICRC only, and reads nothing.
  void patch(const VariableFields& fields, wire::MutableBytes out) const noexcept;

  /// Like FrameEncoder::encode(), for a single frame of any length. Returns the frame's start.
  std::byte* encode(const VariableFields& fields, SendStamp& stamp, std::byte* payload,
                    BufferTag& tag) const noexcept;

  /// The frames' layout; null if their length varies.
  [[nodiscard]] const HeaderLayout* layout() const noexcept { return layout_; }
  /// Value of the layout's own word `i` in this template's frames.
  [[nodiscard]] std::array<std::byte, 4> own_word(std::size_t i) const noexcept {
    if (i < own_words_) return own_[i];
    std::array<std::byte, 4> value;  // not an own word when this was composed: equal to the prefix
    std::memcpy(value.data(),
                layout_->prefix.data() + HeaderLayout::kPrefixHeaders + layout_->own[i],
                value.size());
    return value;
  }
  /// ICRC of the frame whose variable fields are all 0.
  [[nodiscard]] std::uint32_t base_icrc() const noexcept { return icrc_; }

 private:
  HeaderLayout describe(const roce::FrameFields& fields, wire::Bytes payload,
                        const std::uint32_t* signed_by, const TemplateOptions& options,
                        LayoutCache& layouts);
  [[nodiscard]] std::size_t variable_size(std::size_t payload_length) const noexcept;

  const HeaderLayout* layout_ = nullptr;           // null if the length varies
  std::unique_ptr<VariableLengthFrame> variable_;  // null if the length is fixed
  std::uint32_t icrc_ = 0;                         // of the frame whose variable fields are all 0
  std::uint16_t size_ = 0, payload_length_ = 0;    // bytes, if the length is fixed
  bool is_signed_ = false;
  bool carries_payload_ = true;  // false: truncated before it
  std::uint8_t own_words_ = 0;   // of the layout when this was composed; it may have more now
  std::array<std::array<std::byte, 4>, HeaderLayout::kMaxOwnWords> own_{};
};

}  // namespace lw::gen
