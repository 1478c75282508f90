// SPDX-License-Identifier: BSD-3-Clause
#include "capture/reader.h"

#include <algorithm>

#include "capture/damage.h"

namespace lw::capture {
namespace {

std::unexpected<Error> not_a_capture(const Source& source, Bytes start) {
  if (start.empty()) {
    return damaged(source, "the file is empty; expected a pcap or pcapng capture");
  }
  std::string found;
  for (const std::byte b : start.first(std::min<std::size_t>(start.size(), 4))) {
    found += fmt::format(" {:02x}", std::to_integer<unsigned>(b));
  }
  const bool gzip = found.starts_with(" 1f 8b");
  return damaged(source, fmt::format("expected a pcap or pcapng capture, found{}{}", found,
                                     gzip ? " (compressed: gunzip it first)" : ""));
}

}  // namespace

Result<Reader> Reader::open(const std::string& path) {
  auto source = Source::open(path);
  if (!source) return std::unexpected(source.error());
  return over(std::move(*source));
}

Result<Reader> Reader::from_memory(Bytes file) { return over(Source::of_memory(file)); }

Result<Reader> Reader::over(Source opened) {
  Reader reader(std::move(opened));
  Source& source = reader.source_;
  const Bytes start = source.peek(4);
  if (source.read_error()) return cut(source, "the file header", kPcapHeaderSize, start.size());
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

std::expected<std::optional<Record>, Error> Reader::next() {
  if (auto* pcap = std::get_if<PcapFormat>(&format_)) return pcap->next(source_);
  return std::get<PcapngFormat>(format_).next(source_, interfaces_);
}

}  // namespace lw::capture
