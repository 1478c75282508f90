// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/frame_encoder.h"

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
    : layout_(frame.layout()),
      va_(first.va),
      sequence_(first.sequence),
      msn_(first.msn & wire::Psn::kMask),
      immediate_(first.immediate),
      dma_length_(first.dma_length),
      step_(step) {
  const HeaderLayout& layout = *layout_;
  const std::uint32_t changed =
      (first.ack_req ? std::uint32_t{wire::Bth::kAckReq} << 24 : 0u) | first.psn.value();
  word_ = std::rotl(changed | std::uint32_t{layout.reserved7} << 24, kPsnShift);
  icrc_ = frame.base_icrc() ^ change_of(layout.ack_psn, changed) ^ change_of(layout.va, va_) ^
          change_of(layout.length, dma_length_) ^ change_of(layout.msn, msn_) ^
          change_of(layout.immediate, immediate_) ^ change_of(layout.sequence, sequence_);
  for (std::size_t i = 0; i < own_.size(); ++i) {
    own_[i] = frame.own_word(i < layout.own_words ? i : 0);
  }
}

/// Writes the fields that most frames don't have. Returns the change of the ICRC to the next frame.
std::uint32_t EncoderState::write_rare(const HeaderLayout& layout, std::byte* payload) noexcept {
  std::uint32_t next = 0;
  if (layout.length.patch != nullptr) put<4>(layout.length, dma_length_, payload);
  if (layout.msn.patch != nullptr) {
    put<3>(layout.msn, msn_, payload);
    const std::uint32_t msn = (msn_ + 1) & wire::Psn::kMask;
    next ^= layout.msn.patch->of_step(msn ^ msn_);
    msn_ = msn;
  }
  if (layout.immediate.patch != nullptr) {
    put<4>(layout.immediate, immediate_, payload);
    const std::uint32_t immediate = immediate_ + step_.immediate;
    next ^= layout.immediate.patch->of_step(immediate ^ immediate_);
    immediate_ = immediate;
  }
  return next;
}

}  // namespace lw::gen
