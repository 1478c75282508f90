// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/filter.h"
#include "capture/reader.h"
#include "report/progress.h"
#include "roce/envelope.h"

namespace lw::dissect {

/// Shows "FILE: 43 %" on a terminal while a capture is read; nothing elsewhere, and nothing for a
/// file that takes less than half a second.
class Progress {
 public:
  explicit Progress(std::string path);

  /// `offset` bytes of the file were read. Cheap: it reads the clock once in 16384 calls.
  void at(std::uint64_t offset) {
    if ((++calls_ & 16383) == 0 && display_.on_terminal()) show(offset);
  }

 private:
  void show(std::uint64_t offset);

  std::string path_;
  report::Progress display_;
  std::uint64_t size_ = 0;  // bytes; 0: unknown
  std::uint64_t calls_ = 0;
};

/// A frame of a capture and its layers. Valid until the next FrameSource::next().
struct CapturedFrame {
  std::uint64_t number = 0;  // from 1, as Wireshark counts; filters leave gaps
  capture::Record record;
  roce::Envelope envelope;  // empty where the link type is unsupported
};

/// Where frames are read from: a file, and of its interfaces those with these names or numbers
/// (from 0); none: all.
struct CapturePlace {
  std::string file;
  std::vector<std::string> interfaces;
};

/// Reads "FILE" or "FILE@INTERFACE[,INTERFACE]...". An existing file with an @ in its name is FILE.
CapturePlace place_of(const std::string& text);

/// Reads the frames of a capture file that pass a filter. The input of all commands.
class FrameSource {
 public:
  /// `place` as in place_of(). `filter` has libpcap's syntax; empty: all frames. A bad one is a
  /// usage error with libpcap's message, and a hint where it looks like a display filter of
  /// Wireshark.
  static Result<FrameSource> open(const std::string& place, const std::string& filter = {});

  /// Like Reader::next(), for the frames that pass. At the end, an interface that the file does not
  /// have is a usage error.
  std::expected<std::optional<CapturedFrame>, Error> next();

  /// Number of frames so far whose link type is unsupported.
  [[nodiscard]] std::uint64_t unopened() const noexcept { return unopened_; }
  [[nodiscard]] const capture::Reader& reader() const noexcept { return reader_; }

 private:
  FrameSource(capture::Reader reader, CapturePlace place, std::string filter)
      : reader_(std::move(reader)),
        place_(std::move(place)),
        filter_(std::move(filter)),
        progress_(std::make_unique<Progress>(place_.file)) {}
  [[nodiscard]] bool is_wanted(std::uint32_t interface);
  /// Errors: an interface of the place that the file does not have.
  [[nodiscard]] Result<void> check_interfaces() const;
  Result<bool> passes(const capture::Record& record, int link_type);

  capture::Reader reader_;
  CapturePlace place_;
  std::vector<bool> wanted_;  // by interface, as far as known
  std::string filter_;
  std::map<int, capture::Filter> filters_;  // by link type
  std::unique_ptr<Progress> progress_;
  std::uint64_t number_ = 0, unopened_ = 0;
};

/// A hint for an `expression` that looks like a display filter of Wireshark; else empty.
std::string display_filter_hint(const std::string& expression);

}  // namespace lw::dissect
