// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcapng_format.h"

#include <algorithm>

#include <fmt/format.h>

#include "capture/limits.h"
#include "capture/pcapng_block.h"

namespace lw::capture {
namespace {

std::string_view text_of(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint64_t decimal_to_ns(std::uint64_t stamp, unsigned digits) noexcept {
  for (; digits < 9; ++digits) stamp *= 10;
  for (; digits > 9 && stamp > 0; --digits) stamp /= 10;
  return stamp;
}

std::uint64_t binary_to_ns(std::uint64_t stamp, unsigned bits) noexcept {
  constexpr std::uint64_t kUnitsPerSecond = kNsPerSecond;
  // A fraction finer than 2^-32 s is cut to it, so that the product stays within 64 bits.
  constexpr unsigned kFinest = 32;
  if (bits >= 64)
    return bits - 64 < 32 ? (stamp >> kFinest) * kUnitsPerSecond >> (bits - kFinest) : 0;
  const std::uint64_t seconds = stamp >> bits;
  std::uint64_t fraction = stamp & ((std::uint64_t{1} << bits) - 1);
  if (bits > kFinest) {
    fraction >>= bits - kFinest;
    bits = kFinest;
  }
  return seconds * kUnitsPerSecond + (fraction * kUnitsPerSecond >> bits);
}

}  // namespace

/// The header of any kind of packet block.
struct PcapngFormat::PacketHeader {
  std::uint32_t interface = 0;  // within the section
  std::uint64_t stamp = 0;
  std::uint32_t captured = 0, wire = 0;
  std::size_t data = 0;  // offset in the body
};

std::int64_t stamp_to_ns(std::uint64_t stamp, StampUnit unit) noexcept {
  const unsigned exponent = unit.resolution & 0x7f;
  const std::uint64_t ns =
      unit.resolution & 0x80 ? binary_to_ns(stamp, exponent) : decimal_to_ns(stamp, exponent);
  return static_cast<std::int64_t>(ns + static_cast<std::uint64_t>(unit.offset_seconds) *
                                            1'000'000'000u);
}

bool PcapngFormat::recognises(Bytes start) noexcept {
  return start.size() >= 4 && load<std::uint32_t>(start, 0, false) == kSectionHeaderBlock;
}

Result<PcapngFormat> PcapngFormat::open(Source& source) {
  PcapngFormat format;
  PcapngBlock block;
  if (auto found = peek_block(source, format.swap_, block); !found)
    return std::unexpected(found.error());
  if (auto begun = format.begin_section(source, block); !begun) {
    return std::unexpected(begun.error());
  }
  source.skip(block.size);
  return format;
}

Result<void> PcapngFormat::begin_section(Source& source, const PcapngBlock& block) {
  const auto major = load<std::uint16_t>(block.body, 4, swap_);
  if (major != 1) {
    return damaged(source, fmt::format("expected version 1 of the pcapng format, found {}", major));
  }
  section_base_ = units_.size();
  return {};
}

Result<bool> PcapngFormat::add_interface(const Source& source, const PcapngBlock& block,
                                         std::vector<Interface>& interfaces) {
  if (interfaces.size() == kMostInterfaces)
    return damaged(source,
                   fmt::format("expected at most {} interfaces, found more", kMostInterfaces));
  Interface interface;
  StampUnit unit;
  interface.link_type = load<std::uint16_t>(block.body, 0, swap_);
  interface.snap_length = load<std::uint32_t>(block.body, 4, swap_);
  for_each_option(block.body.subspan(8), swap_, [&](std::uint16_t code, Bytes value) {
    if (code == kOptionName)
      interface.name = text_of(value.first(std::min(value.size(), kLongestInterfaceName)));
    if (code == kOptionSpeed && value.size() == 8)
      interface.speed = load<std::uint64_t>(value, 0, swap_);
    if (code == kOptionResolution && value.size() == 1) {
      unit.resolution = std::to_integer<std::uint8_t>(value[0]);
    }
    if (code == kOptionOffset && value.size() == 8) {
      unit.offset_seconds = static_cast<std::int64_t>(load<std::uint64_t>(value, 0, swap_));
    }
  });
  interfaces.push_back(std::move(interface));
  units_.push_back(unit);
  return true;
}

Result<PcapngFormat::PacketHeader> PcapngFormat::packet_header(
    Source& source, const PcapngBlock& block, const std::vector<Interface>& interfaces) const {
  const auto u32 = [&](std::size_t at) { return load<std::uint32_t>(block.body, at, swap_); };
  const auto stamp = [&] { return std::uint64_t{u32(4)} << 32 | u32(8); };
  PacketHeader header;
  if (block.type == kEnhancedPacketBlock) {
    header = {u32(0), stamp(), u32(12), u32(16), 20};
  } else if (block.type == kPacketBlock) {
    header = {load<std::uint16_t>(block.body, 0, swap_), stamp(), u32(12), u32(16), 20};
  } else {
    header = {0, 0, u32(0), u32(0), 4};
  }
  const std::size_t known = interfaces.size() - section_base_;
  if (header.interface >= known) {
    return damaged(source, fmt::format("a packet of interface {}, but the section has described {}",
                                       header.interface, known));
  }
  if (block.type == kSimplePacketBlock) {
    // The block holds only the wire length; the interface's snap length bounds the captured length.
    const std::uint32_t snap = interfaces[section_base_].snap_length;
    if (snap != 0) header.captured = std::min(header.captured, snap);
  }
  if (header.captured > block.body.size() - header.data) {
    return damaged(source, fmt::format("a packet of {} bytes in a block that has room for {}",
                                       header.captured, block.body.size() - header.data));
  }
  return header;
}

/// Reads the number of frames that an interface has lost so far.
void PcapngFormat::add_statistics(const PcapngBlock& block,
                                  std::vector<Interface>& interfaces) const {
  const std::size_t index = section_base_ + load<std::uint32_t>(block.body, 0, swap_);
  if (index >= interfaces.size()) return;
  std::uint64_t dropped = 0;
  for_each_option(block.body.subspan(12), swap_, [&](std::uint16_t code, Bytes value) {
    const bool counts = code == kOptionDropped || code == kOptionDroppedBySystem;
    if (counts && value.size() == 8) dropped += load<std::uint64_t>(value, 0, swap_);
  });
  interfaces[index].dropped_by_statistics = dropped;
}

Result<bool> PcapngFormat::read_packet(Source& source, const PcapngBlock& block,
                                       std::vector<Interface>& interfaces, Record& record) const {
  const auto header = packet_header(source, block, interfaces);
  if (!header) return std::unexpected(header.error());
  record.bytes = block.body.subspan(header->data, header->captured);
  record.wire_length = std::max(header->wire, header->captured);
  record.interface = static_cast<std::uint32_t>(section_base_ + header->interface);
  record.offset = source.offset();
  record.stamp = {};
  record.comment = {};
  if (block.type == kSimplePacketBlock) return true;
  record.stamp = instant_from_ns(stamp_to_ns(header->stamp, units_[record.interface]));
  const std::size_t options =
      std::min(block.body.size(), header->data + in_words(header->captured));
  for_each_option(block.body.subspan(options), swap_, [&](std::uint16_t code, Bytes value) {
    if (code == kOptionComment && record.comment.empty()) record.comment = text_of(value);
    if (code == kOptionDropCount && value.size() == 8)
      interfaces[record.interface].dropped_between += load<std::uint64_t>(value, 0, swap_);
  });
  return true;
}

/// Reads the next block if it is what most are: an enhanced packet, without options, sound, and in
/// the buffer. False: it is another, or damaged. 4 ns, for 14 by way of peek_block().
bool PcapngFormat::read_usual(Source& source, const std::vector<Interface>& interfaces,
                              Record& record) const {
  constexpr std::size_t kData = 28, kWithoutData = kData + 4;
  const Bytes bytes = source.buffered();
  if (swap_ || bytes.size() < kWithoutData) return false;
  const auto u32 = [&](std::size_t at) { return load<std::uint32_t>(bytes, at, false); };
  const std::uint32_t captured = u32(20);
  const std::size_t size = kWithoutData + in_words(captured);
  if (u32(0) != kEnhancedPacketBlock || captured > kMaxRecord - kBlockOverhead - kData ||
      u32(4) != size || size > bytes.size() || u32(size - 4) != size ||
      u32(8) >= interfaces.size() - section_base_)
    return false;
  record.bytes = bytes.subspan(kData, captured);
  record.wire_length = std::max(u32(24), captured);
  record.interface = static_cast<std::uint32_t>(section_base_ + u32(8));
  record.offset = source.offset();
  record.stamp = instant_from_ns(
      stamp_to_ns(std::uint64_t{u32(12)} << 32 | u32(16), units_[record.interface]));
  record.comment = {};
  source.skip(size);
  return true;
}

/// Reads blocks until one is a packet.
Result<bool> PcapngFormat::read_next(Source& source, std::vector<Interface>& interfaces,
                                     Record& record) {
  for (;;) {
    PcapngBlock block;
    Result<bool> done = peek_block(source, swap_, block);
    if (!done || !*done) return done;
    const bool is_packet = holds_packet(block.type);
    if (is_packet) {
      done = read_packet(source, block, interfaces, record);
    } else if (block.type == kSectionHeaderBlock) {
      if (auto begun = begin_section(source, block); !begun) return std::unexpected(begun.error());
    } else if (block.type == kInterfaceBlock) {
      done = add_interface(source, block, interfaces);
    } else if (block.type == kStatisticsBlock) {
      add_statistics(block, interfaces);
    }  // else: names, secrets, private blocks
    if (!done) return done;
    source.skip(block.size);
    if (is_packet) return true;
  }
}

}  // namespace lw::capture
