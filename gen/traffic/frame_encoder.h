// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "roce/compose.h"
#include "wire/bth.h"
#include "wire/icrc.h"
#include "wire/psn.h"
#include "wire/signature.h"
#include "wire/view.h"

namespace lw::gen {

/// Values of the fields that differ between frames of one template. Fields that the template's
/// opcode doesn't have are ignored.
struct VariableFields {
  wire::Psn psn;
  bool ack_req = false;
  std::uint64_t va = 0;            // RETH or AtomicETH
  std::uint32_t msn = 0;           // AETH
  std::uint32_t immediate = 0;     // ImmDt
  std::uint64_t sequence = 0;      // signature: the run in the upper 16 bits
  std::uint64_t send_time_ns = 0;  // signature
  std::uint32_t dma_length = 0;    // RETH, where message sizes vary
  std::uint32_t payload = 0;       // bytes, where the payload length varies
};

/// Position of a variable field and the ICRC patch table for its position. A null `patch` means
/// that the frame has no such field.
struct PatchedField {
  const wire::IcrcFieldPatch* patch = nullptr;
  std::int32_t offset = 0;  // bytes from the payload's start
};

/// The part of a frame that many QPs share: layout, payload, positions of the variable fields. One
/// layout of a quarter KiB serves a whole range of QPs, so that 10,000 QPs fit the cache.
struct HeaderLayout {
  /// Most 32-bit words in which the first bytes of a QP's frames may differ from `prefix`.
  static constexpr std::size_t kMaxOwnWords = 6;
  /// The payload starts at this offset in `prefix`, whatever the header size. (The longest headers,
  /// RD over two VLAN tags and IPv6, have 122 bytes.)
  static constexpr std::size_t kPrefixHeaders = 128;
  /// Bytes of the payload in `prefix`: room for a signature.
  static constexpr std::size_t kPrefixPayload = 32;
  using Prefix = std::array<std::byte, kPrefixHeaders + kPrefixPayload>;

  // The fields that every frame needs are first.
  std::uint32_t id = 0;          // identifies the prefix without variable and own words; not 0
  std::uint32_t payload_id = 0;  // identifies `rest`, its position and pad; not 0
  bool has_icrc = true;
  bool has_rare_fields = false;  // a DMA length, MSN or immediate
  std::uint8_t reserved7 = 0;    // the bits beside AckReq
  std::uint8_t own_words = 0;
  std::uint16_t headers = 0, icrc_at = 0;  // bytes before the payload; from the payload to the ICRC
  // Offsets from the payload's start; entries from own_words on repeat the first.
  std::array<std::int16_t, kMaxOwnWords> own{};
  PatchedField ack_psn;  // AckReq and PSN as one field of four bytes
  PatchedField va, length, msn, immediate, sequence, send_time;
  roce::FrameLayout layout;
  std::size_t payload_length = 0;

  // First bytes of the first QP's frame, variable fields 0: headers and the payload's start, so
  // that one copy of constant size writes them.
  alignas(64) Prefix prefix{};
  wire::Bytes rest;  // the payload after `prefix`
};

/// Buffer cache tag: which constant bytes a send buffer holds since the last frame that was encoded
/// in it. Reset it whenever anything else writes to the buffer.
struct BufferTag {
  std::uint32_t layout = 0, payload = 0;  // ids of the HeaderLayout; 0: unknown
};

/// Writes the payload after the prefix, and its pad.
void write_rest(const HeaderLayout& layout, std::byte* payload) noexcept;

/// Writes the bytes that all frames of a layout share, unless `tag` says that the buffer holds
/// them. Overwrites bytes before and after the frame.
void write_layout(const HeaderLayout& layout, std::byte* payload, BufferTag& tag) noexcept;

/// The layouts and ICRC patch tables of a run. References stay valid for the cache's lifetime. Not
/// thread-safe while it grows.
class LayoutCache {
 public:
  /// Patch table for a field of `width` bytes (1 to 8) with `distance` covered bytes behind it.
  /// Flows whose packets have a field at the same distance from the end share it.
  const wire::IcrcFieldPatch& patch_table(std::size_t width, std::size_t distance) {
    return tables_.try_emplace({width, distance}, width, distance).first->second;
  }

  /// Returns a layout for a frame whose own layout is `wanted`: a known one, with an own word
  /// for each word in which this frame differs, or a new one. `fields`: the frame's fields.
  const HeaderLayout& get(const roce::FrameFields& fields, HeaderLayout wanted);

 private:
  // Opcode, encapsulation, layout, payload: everything but the bytes of the prefix.
  using Key = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t, std::size_t, std::size_t,
                         std::size_t, std::size_t, const void*, const void*>;
  std::uint32_t payload_id_of(const HeaderLayout& layout);

  std::map<std::pair<std::size_t, std::size_t>, wire::IcrcFieldPatch> tables_;
  std::map<Key, std::vector<std::unique_ptr<HeaderLayout>>> layouts_;
  std::map<std::pair<const void*, std::size_t>, std::uint32_t> payload_ids_;
};

class FrameTemplate;

/// Send time of a burst and its change to the ICRC, looked up once for frames of one layout.
struct SendStamp {
  std::uint64_t time_ns = 0;
  const wire::IcrcFieldPatch* patch = nullptr;  // the table that gave `change`
  std::uint32_t change = 0;

  std::uint32_t change_by(const wire::IcrcFieldPatch& by) noexcept {
    if (patch != &by) {
      patch = &by;
      change = by(time_ns);
    }
    return change;
  }
};

/// Variable fields of a layout: PSN and address; these and the signature; any.
enum class FieldSet : std::uint8_t { counters, signature, all };

inline FieldSet field_set_of(const HeaderLayout& layout) noexcept {
  if (!layout.has_icrc || layout.has_rare_fields) return FieldSet::all;
  return layout.sequence.patch != nullptr ? FieldSet::signature : FieldSet::counters;
}

/// Difference of the variable fields between consecutive frames. MSN and signature sequence always
/// advance by one.
struct FieldSteps {
  std::uint32_t psn = 0, va = 0, immediate = 0;
};

template <FieldSet kSet>
class FrameEncoder;

/// State of consecutive frames of one template with constant field steps: all that a FrameEncoder
/// needs for the next frame, in 80 bytes, without a look at the template or the flow's messages.
/// The ICRC is carried from frame to frame: a step costs two look-ups per field, patching from 0
/// four to eight.
class EncoderState {
 public:
  EncoderState() = default;
  /// `frame` has a fixed length and must outlive the state.
  EncoderState(const FrameTemplate& frame, const VariableFields& first,
               const FieldSteps& step) noexcept;

  [[nodiscard]] const HeaderLayout* layout() const noexcept { return layout_; }

  /// Steps back by numbers of signatures and PSNs, which the next frames then have.
  void take_back(std::uint64_t sequence, std::uint32_t psns) noexcept;

 private:
  template <FieldSet kSet>
  friend class FrameEncoder;
  static constexpr int kPsnShift = 8;  // in word_
  std::uint32_t write_rare(const HeaderLayout& layout, std::byte* payload) noexcept;

  const HeaderLayout* layout_ = nullptr;
  std::uint32_t icrc_ = 0;  // of the next frame, without its send time
  std::uint32_t word_ = 0;  // PSN, AckReq, reserved bits, rotated so that the PSN wraps
  std::uint64_t va_ = 0, sequence_ = 0;
  std::uint32_t msn_ = 0, immediate_ = 0, dma_length_ = 0;
  FieldSteps step_;
  std::array<std::array<std::byte, 4>, HeaderLayout::kMaxOwnWords> own_{};
};

/// Encodes frames of one layout and send time, from any flow's EncoderState. It copies field
/// positions and tables from the layout once: after each byte written to a frame the compiler would
/// have to read them again (one flow: 183 instructions per frame instead of 230, null port
/// included).
template <FieldSet kSet>
class FrameEncoder {
 public:
  /// kSet is field_set_of(layout) or `all`. The layout must outlive the encoder.
  FrameEncoder(const HeaderLayout& layout, SendStamp& stamp) noexcept
      : layout_(&layout),
        id_(layout.id),
        own_words_(layout.own_words),
        icrc_at_(layout.icrc_at),
        ack_psn_(layout.ack_psn),
        va_(layout.va),
        sequence_(layout.sequence),
        own_(layout.own) {
    if (sequence_.patch == nullptr) return;
    assert(layout.sequence.offset == kSequenceAt && layout.send_time.offset == kSendTimeAt);
    time_ = stamp.time_ns;
    time_change_ = stamp.change_by(*layout.send_time.patch);
  }

  /// Encodes the next frame of `state` in a reused buffer; its payload starts at `payload`. Writes
  /// only what the buffer doesn't hold according to `tag`: usually the variable fields and the QP's
  /// own words, never a payload of the same pattern and length. Overwrites up to
  /// FrameTemplate::kHeadroom bytes before `payload` and kTailroom behind it.
  [[gnu::always_inline]] void encode(EncoderState& state, std::byte* payload,
                                     BufferTag& tag) const noexcept {
    if (tag.layout != id_) [[unlikely]]
      write_layout(*layout_, payload, tag);
    write_own(state, payload);
    write_variable(state, payload);
  }

  /// Writes the QP's own words.
  [[gnu::always_inline]] void write_own(const EncoderState& state,
                                        std::byte* payload) const noexcept {
    // Four are mostly enough; unused entries repeat the first (HeaderLayout::own).
    if (own_words_ == 0) return;
    write_own<0, 4>(state, payload);
    if (own_words_ > 4) write_own<4, HeaderLayout::kMaxOwnWords>(state, payload);
  }
  /// Writes the variable fields and the ICRC, and advances `state` to the next frame.
  [[gnu::always_inline]] void write_variable(EncoderState& state,
                                             std::byte* payload) const noexcept;

 private:
  template <std::size_t Begin, std::size_t End>
  [[gnu::always_inline]] void write_own(const EncoderState& state,
                                        std::byte* payload) const noexcept {
#pragma GCC unroll 8
    for (std::size_t i = Begin; i < End; ++i) {
      std::memcpy(payload + own_[i], state.own_[i].data(), state.own_[i].size());
    }
  }
  /// Writes `value` in network order.
  template <class Value>
  [[gnu::always_inline]] static void put(std::ptrdiff_t offset, Value value,
                                         std::byte* payload) noexcept {
    if constexpr (std::endian::native == std::endian::little) value = std::byteswap(value);
    std::memcpy(payload + offset, &value, sizeof value);
  }
  [[gnu::always_inline]] std::uint32_t write_psn(EncoderState& state,
                                                 std::byte* payload) const noexcept;

  // The signature is at the payload's start.
  static constexpr std::ptrdiff_t kSequenceAt = offsetof(wire::Signature, sequence);
  static constexpr std::ptrdiff_t kSendTimeAt = offsetof(wire::Signature, send_time_ns);

  const HeaderLayout* layout_;
  std::uint32_t id_;
  std::uint32_t own_words_;
  std::uint32_t icrc_at_;
  PatchedField ack_psn_, va_, sequence_;
  std::uint64_t time_ = 0;
  std::uint32_t time_change_ = 0;  // change of the ICRC by the send time
  std::array<std::int16_t, HeaderLayout::kMaxOwnWords> own_;
};

/// Returns the change of the ICRC by the step to the next PSN. The step is 1, except for READ
/// requests.
template <FieldSet kSet>
[[gnu::always_inline]] inline std::uint32_t FrameEncoder<kSet>::write_psn(
    EncoderState& state, std::byte* payload) const noexcept {
  constexpr int kShift = EncoderState::kPsnShift;
  const std::uint32_t word = state.word_;
  const std::uint32_t next = word + (state.step_.psn << kShift);
  state.word_ = next;
  put(ack_psn_.offset, std::rotr(word, kShift), payload);
  if (state.step_.psn != 1) [[unlikely]]
    return (*ack_psn_.patch)((word ^ next) >> kShift);
  return ack_psn_.patch->of_increment(word ^ next);
}

/// Writes and advances each field in one step: with bytes written in between, the compiler would
/// have to read the field's value and tables twice.
template <FieldSet kSet>
[[gnu::always_inline]] inline void FrameEncoder<kSet>::write_variable(
    EncoderState& state, std::byte* payload) const noexcept {
  if (kSet == FieldSet::all && !layout_->has_icrc) return;  // a truncated frame is constant
  std::uint32_t icrc = state.icrc_;
  std::uint32_t next = icrc ^ write_psn(state, payload);
  if (va_.patch != nullptr) {
    const std::uint64_t va = state.va_;
    put(va_.offset, va, payload);
    if (state.step_.va != 0) {
      state.va_ = va + state.step_.va;
      next ^= va_.patch->of_step(state.va_ ^ va);
    }
  }
  if constexpr (kSet == FieldSet::all) {
    if (layout_->has_rare_fields) next ^= state.write_rare(*layout_, payload);
  }
  if (kSet == FieldSet::signature || (kSet == FieldSet::all && sequence_.patch != nullptr)) {
    const std::uint64_t sequence = state.sequence_++;
    next ^= sequence_.patch->of_increment(sequence ^ (sequence + 1));
    put(kSequenceAt, sequence, payload);
    icrc ^= time_change_;
    put(kSendTimeAt, time_, payload);
  }
  state.icrc_ = next;
  wire::store_icrc({payload + icrc_at_, wire::kIcrcSize}, icrc);
}

/// Calls `use(encoder)` with the fastest encoder for the layout.
template <class Use>
void with_encoder(const HeaderLayout& layout, SendStamp& stamp, Use use) noexcept {
  switch (field_set_of(layout)) {
    case FieldSet::counters:
      return use(FrameEncoder<FieldSet::counters>(layout, stamp));
    case FieldSet::signature:
      return use(FrameEncoder<FieldSet::signature>(layout, stamp));
    case FieldSet::all:
      return use(FrameEncoder<FieldSet::all>(layout, stamp));
  }
}

}  // namespace lw::gen
