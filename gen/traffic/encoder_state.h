// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "gen/traffic/header_layout.h"
#include "gen/traffic/variable_fields.h"
#include "wire/bth.h"

namespace lw::gen {

class FrameTemplate;
enum class FieldSet : std::uint8_t;
template <FieldSet kSet>
class FrameEncoder;

/// By how much a frame's moving fields are ahead of those of the one before it. MSN and signature
/// go on by one.
struct FieldSteps {
  std::uint32_t psn = 0, va = 0, immediate = 0;
};

/// Frames of one template in a row that differ by even steps, so that what makes the next one is
/// all here: 80 bytes, and neither the template nor the flow's messages are looked at. A
/// FrameEncoder makes them. The ICRC is carried from frame to frame: what a counter's step does to
/// it are two look-ups a field, where patching it from 0 takes four to eight.
class EncoderState {
 public:
  EncoderState() = default;
  /// `frame` isn't elastic, and must outlive the run.
  EncoderState(const FrameTemplate& frame, const VariableFields& first,
               const FieldSteps& step) noexcept;

  [[nodiscard]] const HeaderLayout* shape() const noexcept { return shape_; }

 private:
  template <FieldSet kSet>
  friend class FrameEncoder;
  static constexpr int kPsnShift = 8;  // in word_
  std::uint32_t move_rare(const HeaderLayout& shape, std::byte* payload) noexcept;

  const HeaderLayout* shape_ = nullptr;
  std::uint32_t icrc_ = 0;  // of the next frame, but for its send time
  std::uint32_t word_ = 0;  // PSN, AckReq, reserved bits: the PSN wraps by itself
  std::uint64_t va_ = 0, sequence_ = 0;
  std::uint32_t msn_ = 0, immediate_ = 0, dma_length_ = 0;
  FieldSteps step_;
  std::array<std::array<std::byte, 4>, HeaderLayout::kMostOwn> own_{};
};

}  // namespace lw::gen
