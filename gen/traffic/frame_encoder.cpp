// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include "gen/traffic/encoder_state.h"
#include "gen/traffic/frame_template.h"

namespace lw::gen {
namespace {

std::uint32_t change_of(const PatchedField& field, std::uint64_t value) noexcept {
  return field.patch != nullptr ? (*field.patch)(value) : 0;
}

template <std::size_t Width>
void put(const PatchedField& field, std::uint32_t value, std::byte* payload) noexcept {
  const wire::BigEndian<Width> bytes(value);
  std::memcpy(payload + field.offset, &bytes, Width);
}

}  // namespace

EncoderState::EncoderState(const FrameTemplate& frame, const VariableFields& first,
                           const FieldSteps& step) noexcept
    : shape_(frame.shape()),
      va_(first.va),
      sequence_(first.sequence),
      msn_(first.msn & wire::Psn::kMask),
      immediate_(first.immediate),
      dma_length_(first.dma_length),
      step_(step) {
  const HeaderLayout& shape = *shape_;
  const std::uint32_t changed =
      (first.ack_req ? std::uint32_t{wire::Bth::kAckReq} << 24 : 0u) | first.psn.value();
  word_ = std::rotl(changed | std::uint32_t{shape.reserved7} << 24, kPsnShift);
  icrc_ = frame.icrc_at_rest() ^ change_of(shape.acknowledge, changed) ^ change_of(shape.va, va_) ^
          change_of(shape.length, dma_length_) ^ change_of(shape.msn, msn_) ^
          change_of(shape.immediate, immediate_) ^ change_of(shape.sequence, sequence_);
  for (std::size_t i = 0; i < own_.size(); ++i) {
    own_[i] = frame.own_word(i < shape.own_words ? i : 0);
  }
}

/// What most frames don't have; returns what it does to the next frame's ICRC.
std::uint32_t EncoderState::move_rare(const HeaderLayout& shape, std::byte* payload) noexcept {
  std::uint32_t next = 0;
  if (shape.length.patch != nullptr) put<4>(shape.length, dma_length_, payload);
  if (shape.msn.patch != nullptr) {
    put<3>(shape.msn, msn_, payload);
    const std::uint32_t msn = (msn_ + 1) & wire::Psn::kMask;
    next ^= shape.msn.patch->of_step(msn ^ msn_);
    msn_ = msn;
  }
  if (shape.immediate.patch != nullptr) {
    put<4>(shape.immediate, immediate_, payload);
    const std::uint32_t immediate = immediate_ + step_.immediate;
    next ^= shape.immediate.patch->of_step(immediate ^ immediate_);
    immediate_ = immediate;
  }
  return next;
}

}  // namespace lw::gen
