// SPDX-License-Identifier: BSD-3-Clause
#include "gen/frame_template.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>

#include "gen/frame_fault.h"
#include "wire/icrc.h"
#include "wire/signature.h"

namespace lw::gen {
namespace {

using wire::Extension;

/// AckReq, its seven reserved bits and the PSN: the BTH's last four bytes.
std::uint32_t acknowledge_word(bool ack_req, std::uint8_t reserved7, wire::Psn psn) noexcept {
  const std::uint32_t top = (ack_req ? wire::Bth::kAckReq : 0u) | reserved7;
  return top << 24 | psn.value();
}

/// Offset of an extension header from the BTH's end. The opcode must have it.
std::size_t extension_offset(wire::ExtensionSet set, Extension wanted) noexcept {
  std::size_t offset = 0;
  for (int bit = 0; 1 << bit != static_cast<int>(wanted); ++bit) {
    offset += set.has_bit(bit) ? wire::extension_size(bit) : 0;
  }
  return offset;
}

/// Writes the field and returns what that does to the ICRC.
template <std::size_t Width>
std::uint32_t put(const auto& field, std::uint64_t value, std::byte* frame) noexcept {
  using Bytes = wire::BigEndian<Width>;
  const Bytes bytes(static_cast<typename Bytes::Value>(value));
  std::memcpy(frame + field.offset, &bytes, Width);
  return (*field.patch)(value ^ field.base);
}

}  // namespace

FrameTemplate::FrameTemplate(const roce::FrameFields& fields, wire::Bytes payload,
                             const std::uint32_t* signed_by, PatchTables& tables,
                             const TemplateOptions& options)
    : layout_(roce::layout_of(fields, payload.size())), payload_length_(payload.size()) {
  const bool truncate = options.fault == profile::FaultKind::truncated_bth;
  if (options.elastic && !truncate) {
    elastic_ = std::make_unique<ElasticFrame>(fields, payload, signed_by, options.fault);
    return;
  }
  if (truncate) signed_by = nullptr;
  std::vector<std::byte> frame(layout_.size);
  std::vector<std::byte> content(payload.begin(), payload.end());
  std::size_t own = 0;  // bytes of the payload that the template keeps for itself
  if (signed_by != nullptr) {
    place_signature(*signed_by, content, tables);
    own = sizeof(wire::Signature);
  }
  roce::compose(fields, content, frame);
  if (truncate) {
    // Nothing moves that is left, and there is no ICRC.
    head_ = truncated(fields.encapsulation, layout_, frame);
    layout_.size = head_.size();
    layout_.pad = payload_length_ = 0;
    return;
  }
  if (options.fault) spoil(*options.fault, fields.encapsulation, layout_, frame);
  place_fields(fields, options.moving_length, tables);
  head_.assign(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(layout_.payload + own));
  rest_ = payload.subspan(own);
  icrc_ = wire::load_icrc(wire::Bytes(frame).subspan(layout_.icrc, wire::kIcrcSize));
}

void FrameTemplate::place_fields(const roce::FrameFields& fields, bool moving_length,
                                 PatchTables& tables) {
  const auto field = [&](std::size_t offset, std::size_t width, std::uint64_t base) {
    return Field{&tables.get(width, layout_.icrc - offset - width), offset, base};
  };
  const std::size_t behind_bth = layout_.bth + sizeof(wire::Bth);
  const auto& bth = fields.bth;
  acknowledge_ = field(behind_bth - 4, 4, acknowledge_word(bth.ack_req, bth.reserved7, bth.psn));
  reserved7_ = bth.reserved7;
  const auto set = wire::find_opcode(bth.opcode)->extensions;
  const auto at = [&](Extension e) { return behind_bth + extension_offset(set, e); };
  if (set.has(Extension::reth)) va_ = field(at(Extension::reth), 8, fields.reth.va);
  if (moving_length && set.has(Extension::reth)) {
    length_ =
        field(at(Extension::reth) + offsetof(wire::Reth, dma_length), 4, fields.reth.dma_length);
  }
  if (set.has(Extension::atomiceth)) va_ = field(at(Extension::atomiceth), 8, fields.atomiceth.va);
  if (set.has(Extension::aeth)) {
    msn_ = field(at(Extension::aeth) + offsetof(wire::Aeth, msn), 3, fields.aeth.msn);
  }
  if (set.has(Extension::immdt)) {
    immediate_ = field(at(Extension::immdt), 4, fields.immdt.immediate);
  }
}

void FrameTemplate::place_signature(std::uint32_t flow, wire::MutableBytes payload,
                                    PatchTables& tables) {
  assert(payload.size() >= sizeof(wire::Signature));
  wire::view<wire::Signature>(payload)->set({.flow = flow});
  const auto field = [&](std::size_t offset) {
    const std::size_t place = layout_.payload + offset;
    return Field{&tables.get(8, layout_.icrc - place - 8), place, 0};
  };
  sequence_ = field(offsetof(wire::Signature, sequence));
  send_time_ = field(offsetof(wire::Signature, send_time_ns));
}

void FrameTemplate::write(const Moving& moving, wire::MutableBytes out) const noexcept {
  if (elastic_) return elastic_->write(moving, out);
  std::byte* to = out.data();
  to = std::copy(head_.begin(), head_.end(), to);
  to = std::copy(rest_.begin(), rest_.end(), to);
  std::fill_n(to, layout_.pad, std::byte{0});
  patch(moving, out);
}

void FrameTemplate::patch(const Moving& moving, wire::MutableBytes out) const noexcept {
  if (acknowledge_.patch == nullptr) {
    if (elastic_) elastic_->write(moving, out);
    return;  // a truncated frame: nothing moves
  }
  assert(out.size() >= layout_.size);
  std::byte* frame = out.data();
  std::uint32_t icrc = icrc_;
  icrc ^= put<4>(acknowledge_, acknowledge_word(moving.ack_req, reserved7_, moving.psn), frame);
  if (va_.patch != nullptr) icrc ^= put<8>(va_, moving.va, frame);
  if (length_.patch != nullptr) icrc ^= put<4>(length_, moving.dma_length, frame);
  if (msn_.patch != nullptr) icrc ^= put<3>(msn_, moving.msn & wire::Psn::kMask, frame);
  if (immediate_.patch != nullptr) icrc ^= put<4>(immediate_, moving.immediate, frame);
  if (sequence_.patch != nullptr) {
    icrc ^= put<8>(sequence_, moving.sequence, frame);
    icrc ^= put<8>(send_time_, moving.send_time_ns, frame);
  }
  wire::store_icrc(out.subspan(layout_.icrc, wire::kIcrcSize), icrc);
}

}  // namespace lw::gen
