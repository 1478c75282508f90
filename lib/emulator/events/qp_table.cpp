// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/events/qp_table.h"

#include <bit>

namespace lw::emulator {
namespace {

/// 2^64 divided by the golden ratio: it spreads neighbouring QPNs.
constexpr std::uint64_t kHashFactor = 0x9e3779b97f4a7c15;

std::uint64_t hash_of(const roce::QpKey& key) noexcept {
  std::uint64_t hash = key.dest_qp;
  for (const std::uint64_t part : key.addresses) hash = (hash ^ part ^ hash >> 32) * kHashFactor;
  return hash;
}

}  // namespace

QpTable::QpTable(std::size_t capacity)
    : entries_(std::bit_ceil(capacity * 2)), shift_(64 - std::countr_zero(entries_.size())) {
  used_.reserve(capacity);
}

QpState* QpTable::find_or_add(const roce::QpKey& key) noexcept {
  std::size_t at = hash_of(key) >> shift_;
  for (; !entries_[at].empty(); at = (at + 1) & (entries_.size() - 1))
    if (entries_[at].key == key) return &entries_[at].state;
  if (size() == capacity()) return nullptr;
  used_.push_back(static_cast<std::uint32_t>(at));
  entries_[at].key = key;
  return &entries_[at].state;
}

void QpTable::fetch(const roce::QpKey& key) const noexcept {
  __builtin_prefetch(&entries_[hash_of(key) >> shift_]);
}

}  // namespace lw::emulator
