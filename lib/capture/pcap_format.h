// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "capture/record.h"
#include "capture/source.h"
#include "core/error.h"

namespace lw::capture {

inline constexpr std::uint32_t kPcapMicroseconds = 0xa1b2c3d4;
inline constexpr std::uint32_t kPcapNanoseconds = 0xa1b23c4d;
/// Alexey Kuznetzov's libpcap of old: records have eight more bytes.
inline constexpr std::uint32_t kPcapModified = 0xa1b2cd34;
inline constexpr std::size_t kPcapHeaderSize = 24;
inline constexpr std::size_t kPcapRecordHeaderSize = 16;

/// Classic pcap files. (draft-ietf-opsawg-pcap)
///
///   file:   | magic 32 | major 16, minor 16 | zone 32 | accuracy 32 | snap length 32 | link 32 |
///   record: | seconds 32 | us or ns 32 | captured length 32 | wire length 32 | bytes |
class PcapFormat {
 public:
  /// Whether a file that begins with these four bytes is one.
  static bool recognises(Bytes start) noexcept;
  /// Reads the file header.
  static Result<PcapFormat> open(Source& source, std::vector<Interface>& interfaces);
  /// Reader::next().
  std::expected<std::optional<Record>, Error> next(Source& source);

 private:
  bool swap_ = false;
  std::uint32_t fraction_ns_ = 1000;
  std::size_t record_header_ = kPcapRecordHeaderSize;
};

}  // namespace lw::capture
