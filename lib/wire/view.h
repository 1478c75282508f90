// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace lw::wire {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// A header struct: exactly its bytes, readable in place at any address.
template <class Header>
concept WireHeader = std::is_trivially_copyable_v<Header> && std::is_standard_layout_v<Header> &&
                     alignof(Header) == 1;

/// The header at the start of `bytes`, in place; null when there are too few bytes. Checks only the
/// length. The result lives as long as the bytes.
template <WireHeader Header>
[[nodiscard]] const Header* view(Bytes bytes) noexcept {
  if (bytes.size() < sizeof(Header)) return nullptr;
  return reinterpret_cast<const Header*>(bytes.data());
}

template <WireHeader Header>
[[nodiscard]] Header* view(MutableBytes bytes) noexcept {
  if (bytes.size() < sizeof(Header)) return nullptr;
  return reinterpret_cast<Header*>(bytes.data());
}

/// Like view(), at an offset, which may be past the end.
template <WireHeader Header>
[[nodiscard]] const Header* view_at(Bytes bytes, std::size_t offset) noexcept {
  return offset <= bytes.size() ? view<Header>(bytes.subspan(offset)) : nullptr;
}

template <WireHeader Header>
[[nodiscard]] Header* view_at(MutableBytes bytes, std::size_t offset) noexcept {
  return offset <= bytes.size() ? view<Header>(bytes.subspan(offset)) : nullptr;
}

}  // namespace lw::wire
