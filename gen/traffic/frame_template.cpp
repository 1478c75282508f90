// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/frame_template.h"

#include <algorithm>
#include <cstddef>

#include "gen/traffic/flow_cursor.h"

namespace lw::gen {

/// The last packet of a message if message sizes vary. Its payload length is a variable field, so
/// the frame is composed from its fields each time. Templates by length would also need patch
/// tables by length, one for every distance from the end: 28 KiB each, 100 MiB for all lengths up
/// to 4096, all of them cold. Composing takes 0.25 us (tests/bench/frame_bench.cpp), once per
/// message.
class VariableLengthFrame {
 public:
  /// `payload` is the longest one and must outlive the frame.
  VariableLengthFrame(roce::FrameFields fields, wire::Bytes payload, const std::uint32_t* signed_by,
                      std::optional<config::FaultKind> fault)
      : fields_(std::move(fields)), payload_(payload), fault_(fault) {
    if (signed_by != nullptr) signed_by_ = *signed_by;
  }

  [[nodiscard]] std::size_t size(std::size_t payload_length) const noexcept {
    const auto layout = roce::layout_of(fields_, payload_length);
    return is_truncated() ? truncated_size(layout) : layout.size;
  }
  [[nodiscard]] bool is_truncated() const noexcept {
    return fault_ == config::FaultKind::truncated_bth;
  }
  /// Bytes before the payload.
  [[nodiscard]] std::size_t headers() const noexcept { return roce::layout_of(fields_, 0).payload; }

  /// Writes size(values.payload) bytes.
  void write(const VariableFields& values, wire::MutableBytes out) noexcept {
    constexpr std::size_t kLargestMtu = 4096;
    fields_.bth.psn = values.psn;
    fields_.bth.ack_req = values.ack_req;
    fields_.reth.va = fields_.atomiceth.va = values.va;
    fields_.reth.dma_length = values.dma_length;
    fields_.aeth.msn = values.msn & wire::Psn::kMask;
    fields_.immdt.immediate = values.immediate;
    std::array<std::byte, kLargestMtu> copy;
    wire::Bytes payload = payload_.first(values.payload);
    if (signed_by_ && payload.size() >= sizeof(wire::Signature)) {
      std::ranges::copy(payload, copy.begin());
      wire::view<wire::Signature>(wire::MutableBytes(copy))
          ->set_words(wire::Signature::kMagic2, *signed_by_, values.sequence, values.send_time_ns);
      payload = wire::Bytes(copy).first(payload.size());
    }
    const auto layout = roce::layout_of(fields_, payload.size());
    if (is_truncated()) return write_truncated(layout, payload, out);
    const auto frame = out.first(layout.size);
    roce::compose(fields_, payload, frame);
    if (fault_) apply_fault(*fault_, fields_.encapsulation, layout, frame);
  }

 private:
  /// The pad count is that of the whole frame.
  void write_truncated(const roce::FrameLayout& layout, wire::Bytes payload,
                       wire::MutableBytes out) const noexcept {
    std::array<std::byte, FrameTemplate::kHeadroom + FrameTemplate::kTailroom> whole;
    const auto frame = wire::MutableBytes(whole).first(layout.size);
    roce::compose(fields_, payload, frame);
    truncate(fields_.encapsulation, layout, frame, out);
  }

  roce::FrameFields fields_;
  wire::Bytes payload_;
  std::optional<std::uint32_t> signed_by_;
  std::optional<config::FaultKind> fault_;
};

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

/// Returns `fields` with the variable ones at 0.
roce::FrameFields base_fields(roce::FrameFields fields, bool variable_dma_length) {
  fields.bth.psn = {};
  fields.bth.ack_req = false;
  fields.reth.va = fields.atomiceth.va = 0;
  if (variable_dma_length) fields.reth.dma_length = 0;
  fields.aeth.msn = 0;
  fields.immdt.immediate = 0;
  return fields;
}

/// Returns the field of `width` bytes at `offset` from the frame's start.
PatchedField field_at(std::size_t offset, std::size_t width, const roce::FrameLayout& layout,
                      LayoutCache& layouts) {
  const auto from_payload = static_cast<std::ptrdiff_t>(offset - layout.payload);
  return {&layouts.patch_table(width, layout.icrc - offset - width),
          static_cast<std::int32_t>(from_payload)};
}

/// Sets the positions of the variable fields in the headers.
void locate_header_fields(wire::ExtensionSet set, bool variable_dma_length, LayoutCache& layouts,
                          HeaderLayout& result) {
  const std::size_t behind_bth = result.layout.bth + sizeof(wire::Bth);
  const auto at = [&](Extension e) { return behind_bth + extension_offset(set, e); };
  const auto field = [&](std::size_t offset, std::size_t width) {
    return field_at(offset, width, result.layout, layouts);
  };
  result.ack_psn = field(behind_bth - 4, 4);
  if (set.has(Extension::reth)) {
    result.va = field(at(Extension::reth), 8);
    if (variable_dma_length) {
      result.length = field(at(Extension::reth) + offsetof(wire::Reth, dma_length), 4);
    }
  }
  if (set.has(Extension::atomiceth)) result.va = field(at(Extension::atomiceth), 8);
  if (set.has(Extension::aeth)) {
    result.msn = field(at(Extension::aeth) + offsetof(wire::Aeth, msn), 3);
  }
  if (set.has(Extension::immdt)) result.immediate = field(at(Extension::immdt), 4);
}

void locate_signature(LayoutCache& layouts, HeaderLayout& result) {
  const roce::FrameLayout& layout = result.layout;
  result.sequence =
      field_at(layout.payload + offsetof(wire::Signature, sequence), 8, layout, layouts);
  result.send_time =
      field_at(layout.payload + offsetof(wire::Signature, send_time_ns), 8, layout, layouts);
}

/// Copies the frame's bytes up to `end` to the prefix; offset `payload` of the frame becomes the
/// payload's start.
void set_prefix(HeaderLayout::Prefix& prefix, wire::Bytes frame, std::size_t payload,
                std::size_t end) {
  assert(payload <= HeaderLayout::kPrefixHeaders);
  end = std::min(end, payload + HeaderLayout::kPrefixPayload);
  std::ranges::copy(frame.first(end), prefix.data() + HeaderLayout::kPrefixHeaders - payload);
}

std::vector<std::byte> signed_payload(wire::Bytes payload, const std::uint32_t* signed_by) {
  std::vector<std::byte> content(payload.begin(), payload.end());
  if (signed_by != nullptr) {
    assert(payload.size() >= sizeof(wire::Signature));
    wire::view<wire::Signature>(wire::MutableBytes(content))
        ->set_words(wire::Signature::kMagic2, *signed_by, 0, 0);
  }
  return content;
}

}  // namespace

/// Returns the frame's own layout, not shared with other templates; sets icrc_, too.
HeaderLayout FrameTemplate::describe(const roce::FrameFields& fields, wire::Bytes payload,
                                     const std::uint32_t* signed_by, const TemplateOptions& options,
                                     LayoutCache& layouts) {
  HeaderLayout own;
  own.layout = roce::layout_of(fields, payload.size());
  own.payload_length = payload.size();
  own.reserved7 = fields.bth.reserved7;
  std::vector<std::byte> frame(own.layout.size);
  roce::compose(base_fields(fields, options.variable_dma_length),
                signed_payload(payload, signed_by), frame);
  if (options.fault == config::FaultKind::truncated_bth) {
    // No variable field is left, and no ICRC.
    std::vector<std::byte> rest(truncated_size(own.layout));
    truncate(fields.encapsulation, own.layout, frame, rest);
    frame = std::move(rest);
    own.layout.size = own.layout.payload = own.layout.icrc = frame.size();
    own.layout.pad = own.payload_length = 0;
    own.has_icrc = false;
    set_prefix(own.prefix, frame, frame.size(), frame.size());
    return own;
  }
  if (options.fault) apply_fault(*options.fault, fields.encapsulation, own.layout, frame);
  locate_header_fields(wire::find_opcode(fields.bth.opcode)->extensions,
                       options.variable_dma_length, layouts, own);
  if (signed_by != nullptr) locate_signature(layouts, own);
  set_prefix(own.prefix, frame, own.layout.payload, own.layout.icrc);
  own.rest = payload.subspan(std::min(payload.size(), HeaderLayout::kPrefixPayload));
  icrc_ = wire::load_icrc(wire::Bytes(frame).subspan(own.layout.icrc, wire::kIcrcSize));
  return own;
}

FrameTemplate::FrameTemplate(const roce::FrameFields& fields, wire::Bytes payload,
                             const std::uint32_t* signed_by, LayoutCache& layouts,
                             const TemplateOptions& options) {
  const bool truncate = options.fault == config::FaultKind::truncated_bth;
  if (truncate) signed_by = nullptr;
  is_signed_ = signed_by != nullptr;
  if (options.variable_length) {
    carries_payload_ = !truncate;
    variable_ = std::make_unique<VariableLengthFrame>(fields, payload, signed_by, options.fault);
    return;
  }
  const HeaderLayout own = describe(fields, payload, signed_by, options, layouts);
  layout_ = &layouts.get(fields, own);
  size_ = static_cast<std::uint16_t>(own.layout.size);
  payload_length_ = static_cast<std::uint16_t>(own.payload_length);
  own_words_ = layout_->own_words;
  for (std::size_t i = 0; i < own_words_; ++i) {
    std::memcpy(own_[i].data(), own.prefix.data() + HeaderLayout::kPrefixHeaders + layout_->own[i],
                own_[i].size());
  }
}

FrameTemplate::~FrameTemplate() = default;

std::size_t FrameTemplate::variable_size(std::size_t payload_length) const noexcept {
  return variable_->size(payload_length);
}

std::byte* FrameTemplate::encode(const VariableFields& fields, SendStamp& stamp, std::byte* payload,
                                 BufferTag& tag) const noexcept {
  if (variable_) {
    tag = {};
    VariableFields stamped = fields;
    stamped.send_time_ns = stamp.time_ns;
    std::byte* frame = payload - variable_->headers();
    variable_->write(stamped, {frame, variable_->size(fields.payload)});
    return frame;
  }
  EncoderState state(*this, fields, {});
  FrameEncoder<FieldSet::all>(*layout_, stamp).encode(state, payload, tag);
  return payload - layout_->headers;
}

void FrameTemplate::write(const VariableFields& fields, wire::MutableBytes out) const noexcept {
  if (variable_) return variable_->write(fields, out);
  EncoderState state(*this, fields, {});
  SendStamp stamp{.time_ns = fields.send_time_ns};
  const FrameEncoder<FieldSet::all> encoder(*layout_, stamp);
  HeaderLayout::Prefix prefix = layout_->prefix;
  std::byte* const prefix_payload = prefix.data() + HeaderLayout::kPrefixHeaders;
  encoder.write_own(state, prefix_payload);
  const roce::FrameLayout& layout = layout_->layout;
  const std::size_t covered = layout.icrc - layout.payload;  // payload and pad
  const std::size_t known = layout.payload + std::min(covered, HeaderLayout::kPrefixPayload);
  std::copy_n(prefix_payload - layout.payload, known, out.begin());
  write_rest(*layout_, out.data() + layout.payload);
  encoder.write_variable(state, out.data() + layout.payload);
}

void FrameTemplate::patch(const VariableFields& fields, wire::MutableBytes out) const noexcept {
  if (variable_) return variable_->write(fields, out);
  assert(out.size() >= layout_->layout.size);
  SendStamp stamp{.time_ns = fields.send_time_ns};
  EncoderState state(*this, fields, {});
  FrameEncoder<FieldSet::all>(*layout_, stamp)
      .write_variable(state, out.data() + layout_->layout.payload);
}

}  // namespace lw::gen
