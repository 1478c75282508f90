// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace lw {

/// Allocates `bytes` bytes, aligned to 64. Uses huge pages from 2 MiB on, if the kernel provides
/// them. Throws std::bad_alloc. Release with free_huge_pages().
void* allocate_in_huge_pages(std::size_t bytes);
void free_huge_pages(void* memory) noexcept;
/// Chooses whether HugeArrays made from now on allocate all their pages at creation, so that no
/// frame waits for a page. By default each page is allocated at its first use, and unused memory
/// costs nothing. Any thread may call it.
void touch_huge_arrays(bool touch) noexcept;
[[nodiscard]] bool touches_huge_arrays() noexcept;

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

/// An array of `size` items in huge pages. The items are not initialized.
template <class T>
class HugeArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit HugeArray(std::size_t size)
      : items_(static_cast<T*>(allocate_in_huge_pages(size * sizeof(T)))), size_(size) {
    if (touches_huge_arrays()) std::uninitialized_value_construct_n(items_.get(), size);
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* data() const noexcept { return items_.get(); }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return items_.get()[i]; }

 private:
  struct Free {
    void operator()(T* items) const noexcept { free_huge_pages(items); }
  };
  std::unique_ptr<T, Free> items_;
  std::size_t size_;
};

}  // namespace lw
