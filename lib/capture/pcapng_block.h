// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "capture/record.h"
#include "capture/source.h"
#include "core/error.h"

namespace lw::capture {

inline constexpr std::uint32_t kSectionHeaderBlock = 0x0a0d0d0a;
inline constexpr std::uint32_t kInterfaceBlock = 1;
inline constexpr std::uint32_t kPacketBlock = 2;  // obsolete
inline constexpr std::uint32_t kSimplePacketBlock = 3;
inline constexpr std::uint32_t kStatisticsBlock = 5;
inline constexpr std::uint32_t kEnhancedPacketBlock = 6;
inline constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
/// Codes of a block's options.
inline constexpr std::uint16_t kOptionEnd = 0, kOptionComment = 1, kOptionName = 2;
inline constexpr std::uint16_t kOptionSpeed = 8, kOptionResolution = 9;
inline constexpr std::uint16_t kOptionFcsLength = 13, kOptionOffset = 14;
/// Codes of options of an interface statistics block: frames received; dropped by the interface;
/// dropped by the operating system.
inline constexpr std::uint16_t kOptionReceived = 4, kOptionDropped = 5, kOptionDroppedBySystem = 7;
/// Code of an enhanced packet block's option: frames dropped since the one before.
inline constexpr std::uint16_t kOptionDropCount = 4;
/// Longest value of an option, in bytes.
inline constexpr std::size_t kMostOption = 0xffff;

/// Offset of a packet's bytes in the body of an enhanced packet block and of the obsolete one.
inline constexpr std::size_t kPacketData = 20;

/// `size` rounded up to whole 32-bit words, which blocks and options are padded to.
constexpr std::size_t in_words(std::size_t size) noexcept { return (size + 3) & ~std::size_t{3}; }

/// A whole block of a pcapng file. (draft-ietf-opsawg-pcapng)
///
///   | type 32 | total length 32 | body, padded to 4 | total length 32 |
struct PcapngBlock {
  std::uint32_t type = 0;
  Bytes body;            // valid until the source's next peek()
  std::size_t size = 0;  // of the whole block
};
/// Size of a block without its body: the type and both lengths.
inline constexpr std::size_t kBlockOverhead = 12;

constexpr bool holds_packet(std::uint32_t type) noexcept {
  return type == kEnhancedPacketBlock || type == kPacketBlock || type == kSimplePacketBlock;
}

/// Replaces `block` by the next block of `source`, which it does not skip; false at the file's end.
/// `swap`: the section has the other byte order than this machine; a section header sets it. Errors
/// name the offset: the block is cut, or its lengths cannot be right.
Result<bool> peek_block(Source& source, bool& swap, PcapngBlock& block);

/// Calls visit(code, value) for each option up to the end mark, or up to a damaged option: a frame
/// counts even if its options are damaged. Returns the offset of what it did not visit.
template <class Visitor>
std::size_t for_each_option(Bytes options, bool swap, Visitor visit) {
  std::size_t at = 0;
  while (options.size() - at >= 4) {
    const auto code = load<std::uint16_t>(options, at, swap);
    const std::size_t length = load<std::uint16_t>(options, at + 2, swap);
    if (code == kOptionEnd || 4 + length > options.size() - at) break;
    visit(code, options.subspan(at + 4, length));
    at = std::min(options.size(), at + 4 + in_words(length));
  }
  return at;
}

}  // namespace lw::capture
