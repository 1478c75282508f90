// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcapng_block.h"

#include <fmt/format.h>

namespace lw::capture {
namespace {

/// Smallest legal body of a block of this type, in bytes.
constexpr std::size_t smallest_body(std::uint32_t type) noexcept {
  switch (type) {
    case kSectionHeaderBlock:
      return 16;
    case kInterfaceBlock:
      return 8;
    case kEnhancedPacketBlock:
      return 20;
    case kPacketBlock:
      return 20;
    case kSimplePacketBlock:
      return 4;
    case kStatisticsBlock:
      return 12;
    default:
      return 0;
  }
}

}  // namespace

Result<bool> peek_block(Source& source, bool& swap, PcapngBlock& block) {
  const Bytes start = source.peek(kBlockOverhead);
  if (start.empty() && !source.read_error()) return false;
  if (start.size() < kBlockOverhead) return cut(source, "a block", kBlockOverhead, start.size());
  block.type = load<std::uint32_t>(start, 0, swap);
  if (block.type == kSectionHeaderBlock) {
    swap = load<std::uint32_t>(start, 8, false) != kByteOrderMagic;
    if (load<std::uint32_t>(start, 8, swap) != kByteOrderMagic) {
      return damaged(source, "a section header without the byte-order magic 1a2b3c4d");
    }
  }
  block.size = load<std::uint32_t>(start, 4, swap);
  if (block.size % 4 != 0 || block.size < kBlockOverhead + smallest_body(block.type) ||
      block.size > kMaxRecord) {
    return damaged(
        source,
        fmt::format(
            "a block of type {:#x} cannot be {} bytes long; the file is damaged here or before",
            block.type, block.size));
  }
  const Bytes bytes = source.peek(block.size);
  if (bytes.size() < block.size) return cut(source, "a block", block.size, bytes.size());
  const auto trailer = load<std::uint32_t>(bytes, block.size - 4, swap);
  if (trailer != block.size) {
    return damaged(source, fmt::format("a block begins with length {} and ends with length {}",
                                       block.size, trailer));
  }
  block.body = bytes.subspan(8, block.size - kBlockOverhead);
  return true;
}

}  // namespace lw::capture
