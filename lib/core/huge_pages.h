// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

namespace lw {

/// Allocates `bytes`, aligned to 64; from 2 MiB on in huge pages, if the kernel provides them.
/// Throws std::bad_alloc. Release with free_huge_pages().
void* allocate_in_huge_pages(std::size_t bytes);
void free_huge_pages(void* memory) noexcept;

/// An allocator for large tables with random access: huge pages save a page-table walk per access.
template <class T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>& /*other*/) noexcept {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) {
    return static_cast<T*>(allocate_in_huge_pages(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept { free_huge_pages(memory); }
  friend bool operator==(const HugePages&, const HugePages&) = default;
};

template <class T>
using HugeVector = std::vector<T, HugePages<T>>;

}  // namespace lw
