// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

namespace lw {

/// Memory for `bytes`, aligned to 64; of 2 MiB and more in pages of that size where the kernel has
/// them to give. Throws std::bad_alloc.
void* allocate_in_huge_pages(std::size_t bytes);
void free_huge_pages(void* memory) noexcept;

/// For large tables that are looked at here and there: with pages of 4 KiB each look costs a walk
/// through the page tables, too.
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
