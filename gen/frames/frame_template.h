// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "gen/frames/elastic_frame.h"
#include "gen/frames/frame_shapes.h"
#include "gen/frames/moving.h"
#include "profile/flow_fault.h"
#include "wire/icrc.h"

namespace lw::gen {

/// What a template can do beside the usual.
struct TemplateOptions {
  bool elastic = false;                     // the payload's length moves; `payload` is the longest
  bool moving_length = false;               // the RETH's length moves
  std::optional<profile::FaultKind> fault;  // is_in_bytes(): all its frames have it
};

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

/// What a buffer still holds of the last frame that was made in it. Nothing at first, and again
/// whenever somebody else has written there.
struct Imprint {
  std::uint32_t frame = 0, payload = 0;  // FrameShapes::new_id(); 0: nothing known
};

/// A frame composed once, from which frames with other moving fields are made without reading the
/// payload: each field is written, and what its change does to the ICRC is looked up (DESIGN 2.2).
///
/// An elastic one, whose payload's length moves too, is composed anew instead.
///
/// The template keeps what sets it apart from the other frames of its shape; shape and payload are
/// shared.
class alignas(64) FrameTemplate {
 public:
  /// Room that make() needs, in bytes before and from the payload's start on; the latter for a
  /// payload of the largest MTU.
  static constexpr std::size_t kRoomBefore = FrameStart::kHeaders;
  static constexpr std::size_t kRoomBehind = 4096 + wire::kIcrcSize;

  /// `payload` and `shapes` must outlive the template. With `signed_by` the payload's first 24
  /// bytes are replaced by a signature with that flow id; the payload must have the room.
  FrameTemplate(const roce::FrameFields& fields, wire::Bytes payload,
                const std::uint32_t* signed_by, FrameShapes& shapes,
                const TemplateOptions& options = {});

  /// Bytes of a frame of its, FCS not counted.
  [[nodiscard]] std::size_t size(const Moving& moving) const noexcept {
    return elastic_ ? elastic_->size(moving.payload) : size_;
  }
  /// The same of one that isn't elastic.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t payload_length(const Moving& moving) const noexcept {
    return elastic_ ? moving.payload : payload_length_;
  }
  [[nodiscard]] bool has_signature(const Moving& moving) const noexcept {
    return elastic_ ? elastic_->has_signature(moving.payload) : is_signed_;
  }
  [[nodiscard]] bool is_elastic() const noexcept { return elastic_ != nullptr; }

  /// Writes a whole frame into the first size(moving) bytes of `out`.
  void write(const Moving& moving, wire::MutableBytes out) const noexcept;

  /// The same where `out` holds an earlier frame of this template: touches the moving fields and
  /// the ICRC, and reads nothing.
  void patch(const Moving& moving, wire::MutableBytes out) const noexcept;

  /// Makes a frame with `stamp`'s send time in a buffer that is used again and again, its payload
  /// starting at `payload`, and returns where the frame starts. Only what `held` doesn't say is
  /// there already is written: mostly the moving fields, never a payload of the same pattern and
  /// length. Bytes around the frame are spoilt, within kRoomBefore and kRoomBehind.
  std::byte* make(const Moving& moving, SendStamp& stamp, std::byte* payload,
                  Imprint& held) const noexcept {
    if (held.frame != id_) [[unlikely]] {
      if (elastic_) return make_elastic(moving, stamp, payload, held);
      begin(payload, held);
    }
    move(moving, stamp, payload);
    return payload - shape_->layout.payload;
  }

  /// Brings what make() will read nearer.
  void prefetch() const noexcept { __builtin_prefetch(this); }

 private:
  /// A word of the start in which this frame differs from its shape's.
  struct OwnWord {
    std::int16_t offset;  // from the payload's start, bytes
    std::array<std::byte, 4> value;
  };
  using Change = std::uint32_t;  // what XORs onto the ICRC

  FrameShape describe(const roce::FrameFields& fields, wire::Bytes payload,
                      const std::uint32_t* signed_by, const TemplateOptions& options,
                      PatchTables& tables);
  void begin(std::byte* payload, Imprint& held) const noexcept;
  void write_start(std::byte* payload) const noexcept;
  void write_rest(std::byte* payload) const noexcept;
  std::byte* make_elastic(const Moving& moving, const SendStamp& stamp, std::byte* payload,
                          Imprint& held) const noexcept;

  template <std::size_t Width>
  static Change put(const MovingField& field, std::uint64_t value, std::byte* payload) noexcept {
    using Bytes = wire::BigEndian<Width>;
    const Bytes bytes(static_cast<typename Bytes::Value>(value));
    std::memcpy(payload + field.offset, &bytes, Width);
    return (*field.patch)(value);
  }
  void move(const Moving& moving, SendStamp& stamp, std::byte* payload) const noexcept;

  const FrameShape* shape_ = nullptr;  // null of an elastic one
  std::unique_ptr<ElasticFrame> elastic_;
  std::uint32_t icrc_ = 0;  // of the frame whose moving fields are all 0
  std::uint32_t id_;
  std::uint16_t size_ = 0, payload_length_ = 0;  // bytes; of an elastic one they move
  bool is_signed_ = false;
  std::uint8_t own_words_ = 0;
  std::array<OwnWord, FrameShapes::kMostOwn> own_{};
};

inline void FrameTemplate::move(const Moving& moving, SendStamp& stamp,
                                std::byte* payload) const noexcept {
  const FrameShape& shape = *shape_;
  if (!shape.has_icrc) [[unlikely]]
    return;  // a truncated frame: nothing moves
  std::uint32_t icrc = icrc_;
  const std::uint32_t word =
      (moving.ack_req ? std::uint32_t{wire::Bth::kAckReq} << 24 : 0u) | moving.psn.value();
  const wire::Be32 acknowledge(word | std::uint32_t{shape.reserved7} << 24);
  std::memcpy(payload + shape.acknowledge.offset, &acknowledge, sizeof acknowledge);
  icrc ^= (*shape.acknowledge.patch)(word);
  if (shape.va.patch != nullptr) icrc ^= put<8>(shape.va, moving.va, payload);
  if (shape.length.patch != nullptr) icrc ^= put<4>(shape.length, moving.dma_length, payload);
  if (shape.msn.patch != nullptr) {
    icrc ^= put<3>(shape.msn, moving.msn & wire::Psn::kMask, payload);
  }
  if (shape.immediate.patch != nullptr) {
    icrc ^= put<4>(shape.immediate, moving.immediate, payload);
  }
  if (shape.sequence.patch != nullptr) {
    icrc ^= put<8>(shape.sequence, moving.sequence, payload);
    const wire::Be64 time(stamp.time_ns);
    std::memcpy(payload + shape.send_time.offset, &time, sizeof time);
    icrc ^= stamp.change_by(*shape.send_time.patch);
  }
  const std::size_t behind = shape.layout.icrc - shape.layout.payload;
  wire::store_icrc({payload + behind, wire::kIcrcSize}, icrc);
}

}  // namespace lw::gen
