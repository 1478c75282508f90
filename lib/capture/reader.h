// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "capture/pcap_format.h"
#include "capture/pcapng_format.h"
#include "capture/record.h"
#include "core/error.h"

namespace lw::capture {

/// Reads pcap (us, ns, either byte order) and pcapng (several sections and interfaces) from front
/// to back.
///
/// We parse the formats ourselves: libpcap refuses a pcapng file whose interfaces differ in link
/// type or snap length, tells neither a frame's interface nor its offset nor its comment, and
/// large reads are three to four times its loop. Its filter language is Filter's. One thread.
class Reader {
 public:
  /// "-" is standard input. Errors name the file and, where it is no capture, the offset.
  static Result<Reader> open(const std::string& path);
  /// The same over a file's bytes, which must outlive the reader.
  static Result<Reader> from_memory(Bytes file);

  /// The next frame, valid until the next call; nothing at a clean end. An error names the offset
  /// where reading stopped, after everything before it was delivered; asking again repeats it.
  std::expected<std::optional<Record>, Error> next();

  /// What was described so far: a pcapng file may add some at any time.
  [[nodiscard]] const std::vector<Interface>& interfaces() const noexcept { return interfaces_; }
  /// How much of the file was passed, bytes.
  [[nodiscard]] std::uint64_t offset() const noexcept { return source_.offset(); }

 private:
  explicit Reader(Source source) : source_(std::move(source)) {}
  static Result<Reader> over(Source source);

  Source source_;
  std::vector<Interface> interfaces_;
  std::variant<PcapFormat, PcapngFormat> format_;
};

}  // namespace lw::capture
