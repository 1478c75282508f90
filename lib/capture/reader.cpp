// SPDX-License-Identifier: BSD-3-Clause
#include "capture/reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "capture/erf.h"

namespace lw::capture {
namespace {

constexpr std::uint16_t kMajorVersion = 2;
// The last word of a pcap file's header: link type, and the length of a trailing FCS in 16-bit
// words where the flag is set.
constexpr std::uint32_t kLinkTypeMask = 0xffff, kFcsStated = 0x0400'0000;
constexpr unsigned kFcsWords = 28;

bool is_magic(std::uint32_t value) noexcept {
  return value == kPcapMicroseconds || value == kPcapNanoseconds || value == kPcapModified;
}

std::unexpected<Error> not_a_capture(const Source& source, Bytes start) {
  if (start.empty()) {
    return damaged(source, "the file is empty; expected a pcap or pcapng capture");
  }
  std::string found;
  for (const std::byte b : start.first(std::min<std::size_t>(start.size(), 4))) {
    found += fmt::format(" {:02x}", std::to_integer<unsigned>(b));
  }
  return damaged(source, fmt::format("expected a pcap or pcapng capture, found{}", found));
}

}  // namespace

bool PcapFormat::recognises(Bytes start) noexcept {
  return start.size() >= 4 && (is_magic(load<std::uint32_t>(start, 0, false)) ||
                               is_magic(load<std::uint32_t>(start, 0, true)));
}

Result<PcapFormat> PcapFormat::open(Source& source, std::vector<Interface>& interfaces) {
  const Bytes header = source.peek(kPcapHeaderSize);
  if (header.size() < kPcapHeaderSize) {
    return cut(source, "the file header", kPcapHeaderSize, header.size());
  }
  PcapFormat format;
  format.swap_ = !is_magic(load<std::uint32_t>(header, 0, false));
  const auto magic = load<std::uint32_t>(header, 0, format.swap_);
  format.fraction_ns_ = magic == kPcapNanoseconds ? 1 : 1000;
  format.record_header_ = kPcapRecordHeaderSize + (magic == kPcapModified ? 8 : 0);
  const auto major = load<std::uint16_t>(header, 4, format.swap_);
  if (major != kMajorVersion) {
    return damaged(source, fmt::format("expected version {} of the pcap format, found {}",
                                       kMajorVersion, major));
  }
  const auto link = load<std::uint32_t>(header, 20, format.swap_);
  interfaces.push_back({.link_type = static_cast<int>(link & kLinkTypeMask),
                        .snap_length = load<std::uint32_t>(header, 16, format.swap_)});
  if ((link & kFcsStated) != 0)
    interfaces.back().fcs_bytes = static_cast<std::uint8_t>(2 * (link >> kFcsWords));
  source.skip(kPcapHeaderSize);
  return format;
}

Result<bool> PcapFormat::read(Source& source, Record& record) const {
  const Bytes header = source.peek(record_header_);
  if (header.size() < record_header_) {
    if (header.empty() && !source.read_error()) return false;
    return cut(source, "a record header", record_header_, header.size());
  }
  const auto captured = load<std::uint32_t>(header, 8, swap_);
  if (captured > kMaxRecord) {
    return damaged(
        source,
        fmt::format(
            "a record of {} bytes: more than any frame has; the file is damaged here or before",
            captured));
  }
  const std::size_t size = record_header_ + captured;
  const Bytes bytes = source.peek(size);
  if (bytes.size() < size) return cut(source, "a record", size, bytes.size());

  record.bytes = bytes.subspan(record_header_, captured);
  // Some writers get the wire length wrong; a frame was never shorter than what was caught of it.
  record.wire_length = std::max(load<std::uint32_t>(bytes, 12, swap_), captured);
  record.stamp = instant_from_ns(std::int64_t{load<std::uint32_t>(bytes, 0, swap_)} * kNsPerSecond +
                                 std::int64_t{load<std::uint32_t>(bytes, 4, swap_)} *
                                     std::int64_t{fraction_ns_});
  record.interface = 0;
  record.offset = source.offset();
  record.comment = {};
  source.skip(size);
  return true;
}

Result<Reader> Reader::open(const std::string& path, const Reading& reading) {
  auto source = Source::open(path, reading);
  if (!source) return std::unexpected(source.error());
  return over(std::move(*source));
}

Result<Reader> Reader::from_memory(Bytes file) { return over(Source::of_memory(file)); }

Result<Reader> Reader::over(Source opened) {
  Reader reader(std::move(opened));
  Source& source = reader.source_;
  const Bytes start = source.peek(4);
  if (start.size() < 4 && source.read_error())
    return cut(source, "the file header", kPcapHeaderSize, start.size());
  if (PcapFormat::recognises(start)) {
    auto format = PcapFormat::open(source, reader.interfaces_);
    if (!format) return std::unexpected(format.error());
    reader.format_ = *format;
    return reader;
  }
  if (PcapngFormat::recognises(start)) {
    auto format = PcapngFormat::open(source);
    if (!format) return std::unexpected(format.error());
    reader.format_ = std::move(*format);
    return reader;
  }
  return not_a_capture(source, start);
}

Result<bool> Reader::read(Record& record) {
  auto* const pcap = std::get_if<PcapFormat>(&format_);
  auto found = pcap != nullptr ? pcap->read(source_, record)
                               : std::get<PcapngFormat>(format_).read(source_, interfaces_, record);
  if (found && *found && interfaces_[record.interface].link_type == kLinkTypeErf)
    unwrap_erf(record);
  // Whoever stops following a file need not do it between two records.
  if (!found && source_.stopped()) found = false;
  return found;  // without a move: each frame comes through here
}

Result<std::optional<Record>> Reader::next() {
  Record record;
  const auto found = read(record);
  if (!found) return std::unexpected(found.error());
  return *found ? std::optional(record) : std::nullopt;
}

}  // namespace lw::capture
