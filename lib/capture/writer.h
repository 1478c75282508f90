// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/record.h"
#include "core/error.h"

namespace lw::capture {

enum class Format : std::uint8_t {
  pcap,     // nanosecond stamps
  pcap_us,  // microsecond stamps, for old readers
  pcapng,   // nanosecond stamps, several interfaces, comments
};

/// pcapng for a name that ends in .pcapng, otherwise pcap.
Format format_for(std::string_view path) noexcept;

/// Writes a capture in this machine's byte order, a megabyte at a time. The destructor writes the
/// rest and ignores errors; close() reports them. One thread.
class Writer {
 public:
  /// "-" is standard output. All `interfaces` of a pcap file must have one link type. A name for a
  /// compressed file is a usage error.
  static Result<Writer> create(const std::string& path, Format format,
                               std::vector<Interface> interfaces = {Interface{}});
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();

  /// `interface` indexes the list given to create(); wire_length below bytes.size() counts as
  /// equal. pcap drops interface and comment. Errors: no such interface; a stamp outside 1970..2106
  /// in a pcap file; the disk is full.
  Result<void> write(Instant stamp, Bytes bytes, std::uint32_t wire_length,
                     std::uint32_t interface = 0, std::string_view comment = {});
  /// Frames that an interface received and dropped until `stamp`. Does nothing for a pcap file.
  void write_statistics(std::uint32_t interface, Instant stamp, std::uint64_t received,
                        std::uint64_t dropped);
  /// Passes all data to the operating system, so that other processes can read it.
  Result<void> flush();
  Result<void> close();

 private:
  Writer() = default;
  void append_pcap(std::int64_t ns, Bytes bytes, std::uint32_t wire_length);
  void append_pcapng(std::int64_t ns, Bytes bytes, std::uint32_t wire_length,
                     std::uint32_t interface, std::string_view comment);
  void append_file_header(const std::vector<Interface>& interfaces);

  std::string name_;
  int fd_ = -1;
  Format format_ = Format::pcap;
  std::size_t interfaces_ = 0;
  std::string buffer_;
};

}  // namespace lw::capture
