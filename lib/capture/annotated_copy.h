// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/output.h"

namespace lw::capture {

/// A comment for a frame, whose number counts from 1. UTF-8; of its text kLongestComment bytes are
/// written.
struct FrameComment {
  std::uint64_t frame = 0;
  std::string text;
};

/// What a copy holds.
struct AnnotatedCopy {
  std::uint64_t frames = 0;     // copied
  std::uint64_t commented = 0;  // of these, with a comment of ours
  /// Comments that were not written: of simple packet blocks, which hold none; and those beyond
  /// kMostComments of a frame.
  std::uint64_t unholdable = 0, beyond = 0;
  std::optional<Error> damage = {};  // what ended the input; what is before it was copied
};

/// Copies a capture to `out` as pcapng, and adds comments behind those that it has. A pcapng file's
/// blocks are copied with the bytes, byte order and options that they have; the length of a section
/// becomes "unknown", as comments change it. A pcap file's frames get stamps in ns. `comments` are
/// in the order of their frames; `summary` becomes a comment of the first section. Requires a file
/// that Reader::open() opens, plain or packed. Errors: those of Reader::open().
Result<AnnotatedCopy> copy_with_comments(const std::string& path, std::string_view summary,
                                         std::span<const FrameComment> comments, OutputFile& out);

}  // namespace lw::capture
