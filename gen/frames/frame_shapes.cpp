// SPDX-License-Identifier: BSD-3-Clause
#include "gen/frames/frame_shapes.h"

#include <atomic>
#include <cstring>

namespace lw::gen {

std::size_t different_words(const FrameStart& a, const FrameStart& b) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.bytes.size(); i += kWord) {
    count += std::memcmp(&a.bytes[i], &b.bytes[i], kWord) != 0;
  }
  return count;
}

std::uint32_t FrameShapes::new_id() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

std::uint32_t FrameShapes::payload_id_of(const FrameShape& shape) {
  const std::pair<const void*, std::size_t> key{shape.rest.data(), shape.payload_length};
  auto place = payload_ids_.find(key);
  if (place == payload_ids_.end()) place = payload_ids_.emplace(key, new_id()).first;
  return place->second;
}

/// Compared with the newest only: the QPs of a range come one behind the other.
const FrameShape& FrameShapes::get(const roce::FrameFields& fields, FrameShape wanted) {
  const Key key{fields.bth.opcode,     static_cast<std::uint8_t>(fields.encapsulation),
                wanted.reserved7,      wanted.layout.bth,
                wanted.layout.payload, wanted.layout.icrc,
                wanted.payload_length, wanted.sequence.patch,
                wanted.length.patch};
  auto& known = shapes_[key];
  const bool fits = !known.empty() && known.back()->rest.data() == wanted.rest.data() &&
                    known.back()->has_icrc == wanted.has_icrc &&
                    different_words(known.back()->start, wanted.start) <= kMostOwn;
  if (!fits) {
    wanted.payload_id = payload_id_of(wanted);
    known.push_back(std::make_unique<const FrameShape>(std::move(wanted)));
  }
  return *known.back();
}

}  // namespace lw::gen
