// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "config/flow/flow_fault.h"
#include "gen/traffic/elastic_frame.h"
#include "gen/traffic/frame_encoder.h"
#include "gen/traffic/header_layout.h"
#include "gen/traffic/variable_fields.h"
#include "wire/icrc.h"

namespace lw::gen {

/// What a template can do beside the usual.
struct TemplateOptions {
  bool elastic = false;                    // the payload's length moves; `payload` is the longest
  bool moving_length = false;              // the RETH's length moves
  std::optional<config::FaultKind> fault;  // is_in_bytes(): all its frames have it
};

/// A frame composed once, from which frames with other moving fields are made without reading the
/// payload: each field is written, and what its change does to the ICRC is looked up (DESIGN 2.2).
///
/// An elastic one, whose payload's length moves too, is composed anew instead.
///
/// The template keeps what sets it apart from the other frames of its shape; shape and payload are
/// shared.
class FrameTemplate {
 public:
  /// Room that make() needs, in bytes before and from the payload's start on; the latter for a
  /// payload of the largest MTU.
  static constexpr std::size_t kHeadroom = FrameStart::kHeaders;
  static constexpr std::size_t kTailroom = 4096 + wire::kIcrcSize;

  /// `payload` and `shapes` must outlive the template. With `signed_by` the payload's first 24
  /// bytes are replaced by a signature with that flow id; the payload must have the room.
  FrameTemplate(const roce::FrameFields& fields, wire::Bytes payload,
                const std::uint32_t* signed_by, LayoutCache& shapes,
                const TemplateOptions& options = {});

  /// Bytes of a frame of its, FCS not counted.
  [[nodiscard]] std::size_t size(const VariableFields& moving) const noexcept {
    return elastic_ ? elastic_->size(moving.payload) : size_;
  }
  /// The same of one that isn't elastic.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t payload_length(const VariableFields& moving) const noexcept {
    return elastic_ ? moving.payload : payload_length_;
  }
  [[nodiscard]] bool has_signature(const VariableFields& moving) const noexcept {
    return elastic_ ? elastic_->has_signature(moving.payload) : is_signed_;
  }
  [[nodiscard]] bool is_elastic() const noexcept { return elastic_ != nullptr; }

  /// Writes a whole frame into the first size(moving) bytes of `out`.
  void write(const VariableFields& moving, wire::MutableBytes out) const noexcept;

  /// The same where `out` holds an earlier frame of this template: touches the moving fields and
  /// the ICRC, and reads nothing.
  void patch(const VariableFields& moving, wire::MutableBytes out) const noexcept;

  /// FrameEncoder::make() of a single frame; also of an elastic template. Returns where it starts.
  std::byte* make(const VariableFields& moving, SendStamp& stamp, std::byte* payload,
                  BufferTag& held) const noexcept;

  /// Null of an elastic one.
  [[nodiscard]] const HeaderLayout* shape() const noexcept { return shape_; }
  /// The frame's value of the shape's own word `i`.
  [[nodiscard]] std::array<std::byte, 4> own_word(std::size_t i) const noexcept {
    if (i < own_words_) return own_[i];
    std::array<std::byte, 4> value;  // as the shape has it
    std::memcpy(value.data(), shape_->start.bytes.data() + FrameStart::kHeaders + shape_->own[i],
                value.size());
    return value;
  }
  /// Of the frame whose moving fields are all 0.
  [[nodiscard]] std::uint32_t icrc_at_rest() const noexcept { return icrc_; }

 private:
  HeaderLayout describe(const roce::FrameFields& fields, wire::Bytes payload,
                        const std::uint32_t* signed_by, const TemplateOptions& options,
                        PatchTables& tables);
  std::byte* make_elastic(const VariableFields& moving, const SendStamp& stamp, std::byte* payload,
                          BufferTag& held) const noexcept;

  const HeaderLayout* shape_ = nullptr;  // null of an elastic one
  std::unique_ptr<ElasticFrame> elastic_;
  std::uint32_t icrc_ = 0;                       // of the frame whose moving fields are all 0
  std::uint16_t size_ = 0, payload_length_ = 0;  // bytes; of an elastic one they move
  bool is_signed_ = false;
  std::uint8_t own_words_ = 0;  // the shape's when this was made; others may have brought more
  std::array<std::array<std::byte, 4>, HeaderLayout::kMostOwn> own_{};
};

}  // namespace lw::gen
