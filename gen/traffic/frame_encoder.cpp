// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/frame_encoder.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "gen/traffic/frame_template.h"

namespace lw::gen {
namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);

/// Returns a number that no layout or payload of this process has had; not 0.
std::uint32_t new_id() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

/// Adds the words in which `prefix` differs from the layout's to the own words. Returns false, and
/// adds none, if they are too many.
bool adopt(HeaderLayout& layout, const HeaderLayout::Prefix& prefix) noexcept {
  auto own = layout.own;
  std::size_t count = layout.own_words;
  for (std::size_t i = 0; i < prefix.size(); i += kWord) {
    if (std::memcmp(&prefix[i], &layout.prefix[i], kWord) == 0) continue;
    const auto offset =
        static_cast<std::int16_t>(static_cast<int>(i) - int{HeaderLayout::kPrefixHeaders});
    const auto known = std::span(own).first(count);
    if (std::ranges::find(known, offset) != known.end()) continue;
    if (count == own.size()) return false;
    own[count++] = offset;
  }
  std::fill(own.begin() + static_cast<std::ptrdiff_t>(count), own.end(), own[0]);
  layout.own = own;
  layout.own_words = static_cast<std::uint8_t>(count);
  return true;
}

}  // namespace

void write_rest(const HeaderLayout& layout, std::byte* payload) noexcept {
  if (layout.rest.empty()) return;  // the prefix has the pad, too
  std::byte* end = std::ranges::copy(layout.rest, payload + HeaderLayout::kPrefixPayload).out;
  std::fill_n(end, layout.layout.pad, std::byte{0});
}

void write_layout(const HeaderLayout& layout, std::byte* payload, BufferTag& tag) noexcept {
  if (tag.payload != layout.payload_id) write_rest(layout, payload);
  std::memcpy(payload - HeaderLayout::kPrefixHeaders, layout.prefix.data(), sizeof layout.prefix);
  tag = {layout.id, layout.payload_id};
}

std::uint32_t LayoutCache::payload_id_of(const HeaderLayout& layout) {
  const std::pair<const void*, std::size_t> key{layout.rest.data(), layout.payload_length};
  auto found = payload_ids_.find(key);
  if (found == payload_ids_.end()) found = payload_ids_.emplace(key, new_id()).first;
  return found->second;
}

/// Compares with the newest layout only, because the QPs of a range come one after another.
const HeaderLayout& LayoutCache::get(const roce::FrameFields& fields, HeaderLayout wanted) {
  const Key key{fields.bth.opcode,     static_cast<std::uint8_t>(fields.encapsulation),
                wanted.reserved7,      wanted.layout.bth,
                wanted.layout.payload, wanted.layout.icrc,
                wanted.payload_length, wanted.sequence.patch,
                wanted.length.patch};
  auto& known = layouts_[key];
  const bool fits = !known.empty() && known.back()->rest.data() == wanted.rest.data() &&
                    known.back()->has_icrc == wanted.has_icrc &&
                    adopt(*known.back(), wanted.prefix);
  if (!fits) {
    wanted.id = new_id();
    wanted.headers = static_cast<std::uint16_t>(wanted.layout.payload);
    wanted.icrc_at = static_cast<std::uint16_t>(wanted.layout.icrc - wanted.layout.payload);
    wanted.payload_id = payload_id_of(wanted);
    wanted.has_rare_fields = wanted.length.patch != nullptr || wanted.msn.patch != nullptr ||
                             wanted.immediate.patch != nullptr;
    known.push_back(std::make_unique<HeaderLayout>(std::move(wanted)));
  }
  return *known.back();
}

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

void EncoderState::take_back(std::uint64_t sequence, std::uint32_t psns) noexcept {
  if (layout_ == nullptr) return;
  const std::uint64_t earlier = sequence_ - sequence;
  const std::uint32_t word = word_ - (psns << kPsnShift);
  // Changes add up, modulo 2.
  icrc_ ^= change_of(layout_->sequence, earlier ^ sequence_) ^
           change_of(layout_->ack_psn, (word ^ word_) >> kPsnShift);
  sequence_ = earlier;
  word_ = word;
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
