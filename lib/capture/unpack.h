// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "capture/record.h"

namespace lw::capture {

/// Unpacks a compressed file piece by piece: .gz of one or more members, .zst of one or more
/// frames. Windows of zstd are up to 128 MiB, its decoder's default. One thread.
class Unpacker {
 public:
  virtual ~Unpacker() = default;

  struct Step {
    std::size_t taken = 0, given = 0;  // bytes of `in` that were used, bytes written to `out`
    std::string_view problem = {};     // what is wrong behind them; empty: nothing
  };
  /// Goes on with the stream. Takes or gives something unless `in` is too short for that. `problem`
  /// lives as long as the unpacker; nothing can be unpacked behind it.
  virtual Step step(Bytes in, std::span<std::byte> out) = 0;
  /// Whether the stream may end here: no member or frame is incomplete.
  [[nodiscard]] virtual bool may_end() const noexcept = 0;
  /// "gzip" or "zstd".
  [[nodiscard]] virtual std::string_view format() const noexcept = 0;
};

/// The unpacker for a file that begins with these bytes (4, or all that it has); null for a file
/// that is not compressed.
std::unique_ptr<Unpacker> unpacker_for(Bytes start);

}  // namespace lw::capture
