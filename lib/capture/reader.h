// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "capture/pcapng_format.h"
#include "capture/record.h"
#include "capture/source.h"
#include "core/error.h"

namespace lw::capture {

inline constexpr std::uint32_t kPcapMicroseconds = 0xa1b2c3d4;
inline constexpr std::uint32_t kPcapNanoseconds = 0xa1b23c4d;
/// Alexey Kuznetzov's modified pcap: records have eight more bytes.
inline constexpr std::uint32_t kPcapModified = 0xa1b2cd34;
inline constexpr std::size_t kPcapHeaderSize = 24;
inline constexpr std::size_t kPcapRecordHeaderSize = 16;

/// Reads pcap files. (draft-ietf-opsawg-pcap)
///
///   file:   | magic 32 | major 16, minor 16 | zone 32 | accuracy 32 | snap length 32 | link 32 |
///   record: | seconds 32 | us or ns 32 | captured length 32 | wire length 32 | bytes |
class PcapFormat {
 public:
  /// Returns true if these first four bytes are those of a pcap file.
  static bool recognises(Bytes start) noexcept;
  /// Reads the file header.
  static Result<PcapFormat> open(Source& source, std::vector<Interface>& interfaces);
  /// Like Reader::read().
  Result<bool> read(Source& source, Record& record) const;

 private:
  bool swap_ = false;
  std::uint32_t fraction_ns_ = 1000;
  std::size_t record_header_ = kPcapRecordHeaderSize;
};

/// Reads pcap (us, ns, either byte order) and pcapng (several sections and interfaces), plain or as
/// .gz and .zst, from front to back. Offsets are those of the unpacked file.
///
/// The formats are parsed here because libpcap refuses a pcapng file whose interfaces differ in
/// link type or snap length, doesn't report a frame's interface, offset and comment, and is three
/// to four times slower. One thread.
class Reader {
 public:
  /// "-" is standard input. Errors name the file; if it isn't a capture, also the offset.
  static Result<Reader> open(const std::string& path, const Reading& reading = {});
  /// Reads a file's bytes, which must outlive the reader.
  static Result<Reader> from_memory(Bytes file);

  /// Replaces `record` by the next frame, whose bytes are valid until the next call; false at the
  /// end, where `record` is undefined. After the last readable frame of a damaged file: an error
  /// with the offset, also in further calls.
  Result<bool> read(Record& record);
  /// Like read(): the next frame, or nothing at the end.
  Result<std::optional<Record>> next();

  /// Returns the interfaces read so far. A pcapng file may add some at any time.
  [[nodiscard]] const std::vector<Interface>& interfaces() const noexcept { return interfaces_; }
  /// Number of bytes of the file read so far; of a compressed file, before unpacking.
  [[nodiscard]] std::uint64_t file_offset() const noexcept { return source_.file_offset(); }

 private:
  explicit Reader(Source source) : source_(std::move(source)) {}
  static Result<Reader> over(Source source);

  Source source_;
  std::vector<Interface> interfaces_;
  std::variant<PcapFormat, PcapngFormat> format_;
};

}  // namespace lw::capture
