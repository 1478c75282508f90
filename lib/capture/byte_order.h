// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstring>

#include "capture/record.h"

namespace lw::capture {

/// Captures stand in the byte order of the machine that wrote them: `swap` says that it isn't
/// ours. Reads an unsigned T at `offset`; the caller knows that the bytes are there.
template <class T>
[[nodiscard]] T load(Bytes bytes, std::size_t offset, bool swap) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  if (!swap) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

}  // namespace lw::capture
