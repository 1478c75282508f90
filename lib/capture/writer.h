// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/record.h"
#include "core/error.h"
#include "core/output.h"

namespace lw::capture {

enum class Format : std::uint8_t {
  pcap,     // nanosecond stamps
  pcap_us,  // microsecond stamps, for old readers
  pcapng,   // nanosecond stamps, several interfaces, comments
};

/// Returns pcapng for a name that ends in .pcapng, otherwise pcap.
Format format_for(std::string_view path) noexcept;

/// Writes a capture in this machine's byte order, in blocks of one megabyte. After a failure frames
/// are dropped, and close() returns the error: see OutputFile. One thread.
class Writer {
 public:
  /// "-" is standard output. A pcap file requires that all `interfaces` have the same link type.
  /// Errors: they differ; those of OutputFile::open().
  static Result<Writer> create(const std::string& path, Format format,
                               std::vector<Interface> interfaces = {Interface{}},
                               OutputFile::Mode mode = OutputFile::Mode::growing);

  /// Writes a frame. `interface` is an index in the list given to create(). If wire_length is less
  /// than bytes.size(), that size is used. pcap ignores interface and comment. Errors: no such
  /// interface; a stamp outside 1970..2106 in a pcap file.
  Result<void> write(Instant stamp, Bytes bytes, std::uint32_t wire_length,
                     std::uint32_t interface = 0, std::string_view comment = {});
  /// Writes how many frames an interface received and dropped until `stamp`. Does nothing for a
  /// pcap file.
  void write_statistics(std::uint32_t interface, Instant stamp, std::uint64_t received,
                        std::uint64_t dropped);
  /// Passes all data to the operating system, so that other processes can read it. Returns false if
  /// this write or an earlier one failed.
  bool flush() { return file_.flush(); }
  [[nodiscard]] bool failed() const noexcept { return file_.failed(); }
  /// See OutputFile::failure().
  [[nodiscard]] std::string failure() const { return file_.failure(); }
  /// Errors: those of OutputFile::close().
  Result<void> close() { return file_.close(); }

 private:
  Writer(std::string name, OutputFile file, Format format, std::size_t interfaces)
      : name_(std::move(name)), file_(std::move(file)), format_(format), interfaces_(interfaces) {}
  void append_pcap(std::int64_t ns, Bytes bytes, std::uint32_t wire_length);
  void append_pcapng(std::int64_t ns, Bytes bytes, std::uint32_t wire_length,
                     std::uint32_t interface, std::string_view comment);
  void append_file_header(const std::vector<Interface>& interfaces);

  std::string name_;
  OutputFile file_;
  Format format_;
  std::size_t interfaces_;
};

}  // namespace lw::capture
