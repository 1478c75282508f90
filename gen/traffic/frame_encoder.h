// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>

#include "gen/traffic/encoder_state.h"
#include "wire/icrc.h"
#include "wire/signature.h"

namespace lw::gen {

/// A burst's send time, and what it does to the ICRC: looked up once for frames of one shape.
struct SendStamp {
  std::uint64_t time_ns = 0;
  const wire::IcrcFieldPatch* patch = nullptr;  // `change` is by this one
  std::uint32_t change = 0;

  std::uint32_t change_by(const wire::IcrcFieldPatch& by) noexcept {
    if (patch != &by) {
      patch = &by;
      change = by(time_ns);
    }
    return change;
  }
};

/// What of a shape's frames moves: PSN and address, the signature too, or anything that may.
enum class FieldSet : std::uint8_t { counters, signature, all };

inline FieldSet field_set_of(const HeaderLayout& shape) noexcept {
  if (!shape.has_icrc || shape.moves_rare) return FieldSet::all;
  return shape.sequence.patch != nullptr ? FieldSet::signature : FieldSet::counters;
}

/// Makes frames of one shape that leave at one time, of whichever runs. Where they stand and what
/// they do to the ICRC is taken from the shape once: behind every byte that is written into a frame
/// it would be read again (one flow: 183 instructions a frame instead of 230, null port and all).
template <FieldSet kSet>
class FrameEncoder {
 public:
  /// kSet is field_set_of(shape), or `all`. The shape must outlive the maker.
  FrameEncoder(const HeaderLayout& shape, SendStamp& stamp) noexcept
      : shape_(&shape),
        id_(shape.id),
        own_words_(shape.own_words),
        icrc_at_(shape.icrc_at),
        acknowledge_(shape.acknowledge),
        va_(shape.va),
        sequence_(shape.sequence),
        own_(shape.own) {
    if (sequence_.patch == nullptr) return;
    assert(shape.sequence.offset == kSequenceAt && shape.send_time.offset == kSendTimeAt);
    time_ = stamp.time_ns;
    time_change_ = stamp.change_by(*shape.send_time.patch);
  }

  /// Makes the run's next frame in a buffer that is used again and again, its payload starting at
  /// `payload`. Only what `held` doesn't say is there already is written: mostly the moving fields
  /// and those of the QP, never a payload of the same pattern and length. Bytes around the frame
  /// are spoilt, within FrameTemplate::kHeadroom and kTailroom.
  [[gnu::always_inline]] void make(EncoderState& run, std::byte* payload,
                                   BufferTag& held) const noexcept {
    if (held.shape != id_) [[unlikely]]
      lay_out(*shape_, payload, held);
    write_own(run, payload);
    move(run, payload);
  }

  /// The same into any bytes: the frame's changing ones, its payload starting at `payload`.
  [[gnu::always_inline]] void write_own(const EncoderState& run,
                                        std::byte* payload) const noexcept {
    // Four are mostly enough; those that aren't there repeat the first (HeaderLayout::own).
    if (own_words_ == 0) return;
    write_own<0, 4>(run, payload);
    if (own_words_ > 4) write_own<4, HeaderLayout::kMostOwn>(run, payload);
  }
  [[gnu::always_inline]] void move(EncoderState& run, std::byte* payload) const noexcept;

 private:
  template <std::size_t Begin, std::size_t End>
  [[gnu::always_inline]] void write_own(const EncoderState& run,
                                        std::byte* payload) const noexcept {
#pragma GCC unroll 8
    for (std::size_t i = Begin; i < End; ++i) {
      std::memcpy(payload + own_[i], run.own_[i].data(), run.own_[i].size());
    }
  }
  /// In network order.
  template <class Value>
  [[gnu::always_inline]] static void put(std::ptrdiff_t offset, Value value,
                                         std::byte* payload) noexcept {
    if constexpr (std::endian::native == std::endian::little) value = std::byteswap(value);
    std::memcpy(payload + offset, &value, sizeof value);
  }
  [[gnu::always_inline]] std::uint32_t move_psn(EncoderState& run,
                                                std::byte* payload) const noexcept;

  // A signature begins its payload.
  static constexpr std::ptrdiff_t kSequenceAt = offsetof(wire::Signature, sequence);
  static constexpr std::ptrdiff_t kSendTimeAt = offsetof(wire::Signature, send_time_ns);

  const HeaderLayout* shape_;
  std::uint32_t id_;
  std::uint32_t own_words_;
  std::uint32_t icrc_at_;
  PatchedField acknowledge_, va_, sequence_;
  std::uint64_t time_ = 0;
  std::uint32_t time_change_ = 0;  // what the time does to the ICRC
  std::array<std::int16_t, HeaderLayout::kMostOwn> own_;
};

/// Returns what going on to the next PSN does to the ICRC. By one, mostly: READ requests go
/// further.
template <FieldSet kSet>
[[gnu::always_inline]] inline std::uint32_t FrameEncoder<kSet>::move_psn(
    EncoderState& run, std::byte* payload) const noexcept {
  constexpr int kShift = EncoderState::kPsnShift;
  const std::uint32_t word = run.word_;
  const std::uint32_t next = word + (run.step_.psn << kShift);
  run.word_ = next;
  put(acknowledge_.offset, std::rotr(word, kShift), payload);
  if (run.step_.psn != 1) [[unlikely]]
    return (*acknowledge_.patch)((word ^ next) >> kShift);
  return acknowledge_.patch->of_increment(word ^ next);
}

/// Each field is written and stepped on at once: its value and tables are looked at once only,
/// which bytes written between the two would have looked at again.
template <FieldSet kSet>
[[gnu::always_inline]] inline void FrameEncoder<kSet>::move(EncoderState& run,
                                                            std::byte* payload) const noexcept {
  if (kSet == FieldSet::all && !shape_->has_icrc) return;  // a truncated frame: nothing moves
  std::uint32_t icrc = run.icrc_;
  std::uint32_t next = icrc ^ move_psn(run, payload);
  if (va_.patch != nullptr) {
    const std::uint64_t va = run.va_;
    put(va_.offset, va, payload);
    if (run.step_.va != 0) {
      run.va_ = va + run.step_.va;
      next ^= va_.patch->of_step(run.va_ ^ va);
    }
  }
  if constexpr (kSet == FieldSet::all) {
    if (shape_->moves_rare) next ^= run.move_rare(*shape_, payload);
  }
  if (kSet == FieldSet::signature || (kSet == FieldSet::all && sequence_.patch != nullptr)) {
    const std::uint64_t sequence = run.sequence_++;
    next ^= sequence_.patch->of_increment(sequence ^ (sequence + 1));
    put(kSequenceAt, sequence, payload);
    icrc ^= time_change_;
    put(kSendTimeAt, time_, payload);
  }
  run.icrc_ = next;
  wire::store_icrc({payload + icrc_at_, wire::kIcrcSize}, icrc);
}

/// `use(maker)` with the quickest maker of the shape's frames.
template <class Use>
void with_encoder(const HeaderLayout& shape, SendStamp& stamp, Use use) noexcept {
  switch (field_set_of(shape)) {
    case FieldSet::counters:
      return use(FrameEncoder<FieldSet::counters>(shape, stamp));
    case FieldSet::signature:
      return use(FrameEncoder<FieldSet::signature>(shape, stamp));
    case FieldSet::all:
      return use(FrameEncoder<FieldSet::all>(shape, stamp));
  }
}

}  // namespace lw::gen
