// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/frame_template.h"

#include <algorithm>
#include <cstddef>

#include "gen/traffic/frame_fault.h"
#include "wire/signature.h"

namespace lw::gen {
namespace {

using wire::Extension;

/// Offset of an extension header from the BTH's end. The opcode must have it.
std::size_t extension_offset(wire::ExtensionSet set, Extension wanted) noexcept {
  std::size_t offset = 0;
  for (int bit = 0; 1 << bit != static_cast<int>(wanted); ++bit) {
    offset += set.has_bit(bit) ? wire::extension_size(bit) : 0;
  }
  return offset;
}

/// The fields with those that move at 0, from where they are counted.
roce::FrameFields at_rest(roce::FrameFields fields, bool moving_length) {
  fields.bth.psn = {};
  fields.bth.ack_req = false;
  fields.reth.va = fields.atomiceth.va = 0;
  if (moving_length) fields.reth.dma_length = 0;
  fields.aeth.msn = 0;
  fields.immdt.immediate = 0;
  return fields;
}

/// Finds where the moving fields stand.
class Places {
 public:
  Places(const roce::FrameLayout& layout, PatchTables& tables) : layout_(layout), tables_(tables) {}

  /// `offset` from the frame's start.
  PatchedField field(std::size_t offset, std::size_t width) {
    const auto from_payload = static_cast<std::ptrdiff_t>(offset - layout_.payload);
    return {&tables_.get(width, layout_.icrc - offset - width),
            static_cast<std::int32_t>(from_payload)};
  }

  void headers(wire::ExtensionSet set, bool moving_length, HeaderLayout& shape) {
    const std::size_t behind_bth = layout_.bth + sizeof(wire::Bth);
    const auto at = [&](Extension e) { return behind_bth + extension_offset(set, e); };
    shape.acknowledge = field(behind_bth - 4, 4);
    if (set.has(Extension::reth)) {
      shape.va = field(at(Extension::reth), 8);
      if (moving_length) {
        shape.length = field(at(Extension::reth) + offsetof(wire::Reth, dma_length), 4);
      }
    }
    if (set.has(Extension::atomiceth)) shape.va = field(at(Extension::atomiceth), 8);
    if (set.has(Extension::aeth)) {
      shape.msn = field(at(Extension::aeth) + offsetof(wire::Aeth, msn), 3);
    }
    if (set.has(Extension::immdt)) shape.immediate = field(at(Extension::immdt), 4);
  }

  void signature(HeaderLayout& shape) {
    shape.sequence = field(layout_.payload + offsetof(wire::Signature, sequence), 8);
    shape.send_time = field(layout_.payload + offsetof(wire::Signature, send_time_ns), 8);
  }

 private:
  const roce::FrameLayout& layout_;
  PatchTables& tables_;
};

/// The frame's bytes up to `end`, placed so that the one at `payload` comes where payloads start.
void set_start(FrameStart& start, wire::Bytes frame, std::size_t payload, std::size_t end) {
  assert(payload <= FrameStart::kHeaders);
  end = std::min(end, payload + FrameStart::kPayload);
  std::ranges::copy(frame.first(end), start.payload() - payload);
}

}  // namespace

/// What a shape of the frame's own would be; sets icrc_, too.
HeaderLayout FrameTemplate::describe(const roce::FrameFields& fields, wire::Bytes payload,
                                     const std::uint32_t* signed_by, const TemplateOptions& options,
                                     PatchTables& tables) {
  HeaderLayout shape;
  shape.layout = roce::layout_of(fields, payload.size());
  shape.payload_length = payload.size();
  shape.reserved7 = fields.bth.reserved7;
  std::vector<std::byte> content(payload.begin(), payload.end());
  if (signed_by != nullptr) {
    assert(payload.size() >= sizeof(wire::Signature));
    wire::view<wire::Signature>(wire::MutableBytes(content))->set({.flow = *signed_by});
  }
  std::vector<std::byte> frame(shape.layout.size);
  roce::compose(at_rest(fields, options.moving_length), content, frame);
  if (options.fault == config::FaultKind::truncated_bth) {
    // Nothing moves that is left, and there is no ICRC.
    frame = truncated(fields.encapsulation, shape.layout, frame);
    shape.layout.size = shape.layout.payload = shape.layout.icrc = frame.size();
    shape.layout.pad = shape.payload_length = 0;
    shape.has_icrc = false;
    set_start(shape.start, frame, frame.size(), frame.size());
    return shape;
  }
  if (options.fault) spoil(*options.fault, fields.encapsulation, shape.layout, frame);
  Places places(shape.layout, tables);
  places.headers(wire::find_opcode(fields.bth.opcode)->extensions, options.moving_length, shape);
  if (signed_by != nullptr) places.signature(shape);
  set_start(shape.start, frame, shape.layout.payload, shape.layout.icrc);
  shape.rest = payload.subspan(std::min(payload.size(), FrameStart::kPayload));
  icrc_ = wire::load_icrc(wire::Bytes(frame).subspan(shape.layout.icrc, wire::kIcrcSize));
  return shape;
}

FrameTemplate::FrameTemplate(const roce::FrameFields& fields, wire::Bytes payload,
                             const std::uint32_t* signed_by, LayoutCache& shapes,
                             const TemplateOptions& options) {
  const bool truncate = options.fault == config::FaultKind::truncated_bth;
  if (options.elastic && !truncate) {
    elastic_ = std::make_unique<ElasticFrame>(fields, payload, signed_by, options.fault);
    return;
  }
  if (truncate) signed_by = nullptr;
  is_signed_ = signed_by != nullptr;
  const HeaderLayout own = describe(fields, payload, signed_by, options, shapes.tables());
  shape_ = &shapes.get(fields, own);
  size_ = static_cast<std::uint16_t>(own.layout.size);
  payload_length_ = static_cast<std::uint16_t>(own.payload_length);
  own_words_ = shape_->own_words;
  for (std::size_t i = 0; i < own_words_; ++i) {
    std::memcpy(own_[i].data(), own.start.bytes.data() + FrameStart::kHeaders + shape_->own[i],
                own_[i].size());
  }
}

std::byte* FrameTemplate::make(const VariableFields& moving, SendStamp& stamp, std::byte* payload,
                               BufferTag& held) const noexcept {
  if (elastic_) return make_elastic(moving, stamp, payload, held);
  EncoderState run(*this, moving, {});
  FrameEncoder<FieldSet::all>(*shape_, stamp).make(run, payload, held);
  return payload - shape_->headers;
}

std::byte* FrameTemplate::make_elastic(const VariableFields& moving, const SendStamp& stamp,
                                       std::byte* payload, BufferTag& held) const noexcept {
  held = {};
  VariableFields stamped = moving;
  stamped.send_time_ns = stamp.time_ns;
  std::byte* frame = payload - elastic_->headers();
  elastic_->write(stamped, {frame, elastic_->size(moving.payload)});
  return frame;
}

void FrameTemplate::write(const VariableFields& moving, wire::MutableBytes out) const noexcept {
  if (elastic_) return elastic_->write(moving, out);
  const HeaderLayout& shape = *shape_;
  EncoderState run(*this, moving, {});
  SendStamp stamp{.time_ns = moving.send_time_ns};
  const FrameEncoder<FieldSet::all> maker(shape, stamp);
  FrameStart start = shape.start;
  maker.write_own(run, start.payload());
  const roce::FrameLayout& layout = shape.layout;
  const std::size_t covered = layout.icrc - layout.payload;  // payload and pad
  const std::size_t known = layout.payload + std::min(covered, FrameStart::kPayload);
  std::copy_n(start.payload() - layout.payload, known, out.begin());
  write_rest(shape, out.data() + layout.payload);
  maker.move(run, out.data() + layout.payload);
}

void FrameTemplate::patch(const VariableFields& moving, wire::MutableBytes out) const noexcept {
  if (elastic_) return elastic_->write(moving, out);
  assert(out.size() >= shape_->layout.size);
  SendStamp stamp{.time_ns = moving.send_time_ns};
  EncoderState run(*this, moving, {});
  FrameEncoder<FieldSet::all>(*shape_, stamp).move(run, out.data() + shape_->layout.payload);
}

}  // namespace lw::gen
