// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "capture/record.h"

namespace lw::capture {

/// Unpacks a compressed file piece by piece: .gz with one or more members, .zst with one or more
/// frames. zstd windows may have up to 128 MiB, its decoder's default. One thread.
class Unpacker {
 public:
  virtual ~Unpacker() = default;

  struct Step {
    std::size_t taken = 0, given = 0;  // bytes consumed from `in`, bytes written to `out`
    std::string_view problem = {};     // the error after these bytes; empty if there is none
  };
  /// Unpacks more of the stream. Consumes or produces bytes, unless `in` is too short. `problem`
  /// lives as long as the unpacker; after it nothing more can be unpacked.
  virtual Step step(Bytes in, std::span<std::byte> out) = 0;
  /// Returns true if the stream may end here: no member or frame is incomplete.
  [[nodiscard]] virtual bool may_end() const noexcept = 0;
  /// Name of the format: "gzip" or "zstd".
  [[nodiscard]] virtual std::string_view format() const noexcept = 0;
};

/// Returns the unpacker for a file that begins with these bytes (4, or all if it has fewer); null
/// if the file is not compressed.
std::unique_ptr<Unpacker> unpacker_for(Bytes start);

}  // namespace lw::capture
