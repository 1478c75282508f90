// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace lw {

/// Brings an object into the cache, as far as it is in one piece. It may be null.
template <class T>
void prefetch(const T* object) noexcept {
  constexpr std::size_t kLine = 64;
  const auto* bytes = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < sizeof(T); at += kLine) __builtin_prefetch(bytes + at);
}

}  // namespace lw
