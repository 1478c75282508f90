// SPDX-License-Identifier: BSD-3-Clause
#include "core/huge_pages.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace lw {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20, kLine = 64;
std::atomic<bool> touches{false};

}  // namespace

void touch_huge_arrays(bool touch) noexcept { touches.store(touch, std::memory_order_relaxed); }

bool touches_huge_arrays() noexcept { return touches.load(std::memory_order_relaxed); }

void* allocate_in_huge_pages(std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kLine;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, rounded);
  if (!memory) throw std::bad_alloc();
  if (unit == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);  // a hint
  return memory;
}

void free_huge_pages(void* memory) noexcept { std::free(memory); }

}  // namespace lw
