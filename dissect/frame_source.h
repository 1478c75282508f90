// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>

#include "capture/filter.h"
#include "capture/reader.h"
#include "dissect/progress.h"
#include "roce/envelope.h"

namespace lw::dissect {

/// A frame of a capture, opened. Valid until the next one is asked for.
struct CapturedFrame {
  std::uint64_t number = 0;  // from 1, as Wireshark counts; filters leave gaps
  capture::Record record;
  roce::Envelope envelope;  // empty where the link type is none of ours
};

/// The frames of a capture file that pass a filter. All commands read their input through it.
class FrameSource {
 public:
  /// `filter` is libpcap's language; empty: everything. A bad one is a usage error in libpcap's
  /// words, with a hint where it looks like one of Wireshark's.
  static Result<FrameSource> open(const std::string& path, const std::string& filter = {});

  /// Reader::next() of the frames that pass.
  std::expected<std::optional<CapturedFrame>, Error> next();

  /// Frames so far of a link type that we can't open.
  [[nodiscard]] std::uint64_t unopened() const noexcept { return unopened_; }
  [[nodiscard]] const capture::Reader& reader() const noexcept { return reader_; }

 private:
  FrameSource(capture::Reader reader, const std::string& path, std::string filter)
      : reader_(std::move(reader)),
        filter_(std::move(filter)),
        progress_(std::make_unique<Progress>(path)) {}
  Result<bool> passes(const capture::Record& record, int link_type);

  capture::Reader reader_;
  std::string filter_;
  std::map<int, capture::Filter> filters_;  // one a link type, compiled when it is met
  std::unique_ptr<Progress> progress_;
  std::uint64_t number_ = 0, unopened_ = 0;
};

/// Why `expression` may have been refused: a hint for those who think in Wireshark's display
/// filters; empty where it doesn't look like one.
std::string display_filter_hint(const std::string& expression);

}  // namespace lw::dissect
