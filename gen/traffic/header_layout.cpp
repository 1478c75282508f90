// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/header_layout.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

namespace lw::gen {

namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);

/// A number that no shape or payload of this process had before; not 0.
std::uint32_t new_id() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

/// Adds the words in which the start differs from the shape's to the shape's own; false, and
/// nothing added, when they are too many.
bool adopt(HeaderLayout& shape, const FrameStart& start) noexcept {
  auto own = shape.own;
  std::size_t count = shape.own_words;
  for (std::size_t i = 0; i < start.bytes.size(); i += kWord) {
    if (std::memcmp(&start.bytes[i], &shape.start.bytes[i], kWord) == 0) continue;
    const auto offset = static_cast<std::int16_t>(static_cast<int>(i) - int{FrameStart::kHeaders});
    const auto known = std::span(own).first(count);
    if (std::ranges::find(known, offset) != known.end()) continue;
    if (count == own.size()) return false;
    own[count++] = offset;
  }
  std::fill(own.begin() + static_cast<std::ptrdiff_t>(count), own.end(), own[0]);
  shape.own = own;
  shape.own_words = static_cast<std::uint8_t>(count);
  return true;
}

}  // namespace

void write_rest(const HeaderLayout& shape, std::byte* payload) noexcept {
  if (shape.rest.empty()) return;  // its pad, too, is in the start
  std::byte* end = std::ranges::copy(shape.rest, payload + FrameStart::kPayload).out;
  std::fill_n(end, shape.layout.pad, std::byte{0});
}

void lay_out(const HeaderLayout& shape, std::byte* payload, BufferTag& held) noexcept {
  if (held.payload != shape.payload_id) write_rest(shape, payload);
  std::memcpy(payload - FrameStart::kHeaders, shape.start.bytes.data(), sizeof shape.start.bytes);
  held = {shape.id, shape.payload_id};
}

std::uint32_t LayoutCache::payload_id_of(const HeaderLayout& shape) {
  const std::pair<const void*, std::size_t> key{shape.rest.data(), shape.payload_length};
  auto place = payload_ids_.find(key);
  if (place == payload_ids_.end()) place = payload_ids_.emplace(key, new_id()).first;
  return place->second;
}

/// Compared with the newest only: the QPs of a range come one behind the other.
const HeaderLayout& LayoutCache::get(const roce::FrameFields& fields, HeaderLayout wanted) {
  const Key key{fields.bth.opcode,     static_cast<std::uint8_t>(fields.encapsulation),
                wanted.reserved7,      wanted.layout.bth,
                wanted.layout.payload, wanted.layout.icrc,
                wanted.payload_length, wanted.sequence.patch,
                wanted.length.patch};
  auto& known = shapes_[key];
  const bool fits = !known.empty() && known.back()->rest.data() == wanted.rest.data() &&
                    known.back()->has_icrc == wanted.has_icrc && adopt(*known.back(), wanted.start);
  if (!fits) {
    wanted.id = new_id();
    wanted.headers = static_cast<std::uint16_t>(wanted.layout.payload);
    wanted.icrc_at = static_cast<std::uint16_t>(wanted.layout.icrc - wanted.layout.payload);
    wanted.payload_id = payload_id_of(wanted);
    wanted.moves_rare = wanted.length.patch != nullptr || wanted.msn.patch != nullptr ||
                        wanted.immediate.patch != nullptr;
    known.push_back(std::make_unique<HeaderLayout>(std::move(wanted)));
  }
  return *known.back();
}

}  // namespace lw::gen
