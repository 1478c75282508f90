// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "gen/frames/frame_shapes.h"
#include "gen/frames/moving.h"
#include "wire/bth.h"
#include "wire/icrc.h"

namespace lw::gen {

class FrameTemplate;

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

/// By how much a frame's moving fields are ahead of those of the one before it. MSN and signature
/// go on by one.
struct MovingStep {
  std::uint32_t psn = 0, va = 0, immediate = 0;
};

/// Frames of one template in a row that differ by even steps, so that what makes the next one is
/// all here: 80 bytes, and neither the template nor the flow's messages are looked at. The ICRC is
/// carried from frame to frame: what a counter's step does to it are two look-ups a field, where
/// patching it from 0 takes four to eight.
class FrameRun {
 public:
  FrameRun() = default;
  /// `frame` isn't elastic, and must outlive the run.
  FrameRun(const FrameTemplate& frame, const Moving& first, const MovingStep& step) noexcept;

  [[nodiscard]] const FrameShape* shape() const noexcept { return shape_; }

  /// Makes the next frame with `stamp`'s send time in a buffer that is used again and again, its
  /// payload starting at `payload`, and returns where the frame starts. Only what `held` doesn't
  /// say is there already is written: mostly the moving fields and those of the QP, never a payload
  /// of the same pattern and length. Bytes around the frame are spoilt, within
  /// FrameTemplate::kRoomBefore and kRoomBehind.
  [[gnu::always_inline]] std::byte* make(SendStamp& stamp, std::byte* payload,
                                         Imprint& held) noexcept {
    const FrameShape& shape = *shape_;
    if (held.shape != shape.id) [[unlikely]]
      lay_out(shape, payload, held);
    write_own(shape, payload);
    if (shape.has_icrc) [[likely]]
      move(shape, stamp, payload);
    return payload - shape.headers;
  }

  /// The same into any bytes: the frame's changing ones, its payload starting at `payload`.
  void write_own(const FrameShape& shape, std::byte* payload) const noexcept {
    for (std::size_t i = 0; i < shape.own_words; ++i) {
      std::memcpy(payload + shape.own[i], own_[i].data(), own_[i].size());
    }
  }
  void move(const FrameShape& shape, SendStamp& stamp, std::byte* payload) noexcept;

 private:
  template <std::size_t Width>
  static void put(const MovingField& field, std::uint64_t value, std::byte* payload) noexcept {
    using Bytes = wire::BigEndian<Width>;
    const Bytes bytes(static_cast<typename Bytes::Value>(value));
    std::memcpy(payload + field.offset, &bytes, Width);
  }
  std::uint32_t move_rare(const FrameShape& shape, std::byte* payload) noexcept;

  const FrameShape* shape_ = nullptr;
  std::uint32_t icrc_ = 0;  // of the next frame, but for its send time
  std::uint32_t word_ = 0;  // AckReq, reserved bits, PSN
  std::uint64_t va_ = 0, sequence_ = 0;
  std::uint32_t msn_ = 0, immediate_ = 0, dma_length_ = 0;
  MovingStep step_;
  std::array<std::array<std::byte, 4>, FrameShape::kMostOwn> own_{};
};

/// Each field is written and stepped on at once: its value and tables are looked at once only,
/// which bytes written between the two would have looked at again.
[[gnu::always_inline]] inline void FrameRun::move(const FrameShape& shape, SendStamp& stamp,
                                                  std::byte* payload) noexcept {
  std::uint32_t icrc = icrc_;
  const std::uint32_t word = word_;
  const std::uint32_t change = (word ^ (word + step_.psn)) & wire::Psn::kMask;
  word_ = word ^ change;
  std::uint32_t next = icrc ^ shape.acknowledge.patch->of_step(change);
  put<4>(shape.acknowledge, word, payload);
  if (const auto* patch = shape.va.patch) {
    const std::uint64_t va = va_;
    va_ = va + step_.va;
    next ^= patch->of_step(va_ ^ va);
    put<8>(shape.va, va, payload);
  }
  if (shape.moves_rare) next ^= move_rare(shape, payload);
  if (const auto* patch = shape.sequence.patch) {
    const std::uint64_t sequence = sequence_++;
    next ^= patch->of_step(sequence ^ (sequence + 1));
    put<8>(shape.sequence, sequence, payload);
    icrc ^= stamp.change_by(*shape.send_time.patch);
    put<8>(shape.send_time, stamp.time_ns, payload);
  }
  icrc_ = next;
  wire::store_icrc({payload + shape.icrc_at, wire::kIcrcSize}, icrc);
}

}  // namespace lw::gen
