// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/events/qp_table.h"

#include <bit>
#include <cstring>

namespace lw::emulator {
namespace {

constexpr std::uint32_t kVersionShift = 24;

template <class T>
T load(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// 2^64 divided by the golden ratio: it spreads neighbouring QPNs.
constexpr std::uint64_t kHashFactor = 0x9e3779b97f4a7c15;

std::uint64_t hash_of(const QpKey& key) noexcept {
  std::uint64_t hash = key.dest_qp;
  for (const std::uint64_t part : key.addresses) hash = (hash ^ part ^ hash >> 32) * kHashFactor;
  return hash;
}

}  // namespace

QpKey qp_key(const roce::Envelope& envelope, std::uint32_t dest_qp) noexcept {
  if (envelope.ipv4) return qp_key(*envelope.ipv4, dest_qp);
  QpKey key;
  std::memcpy(&key.addresses[0], envelope.ipv6->source.bytes.data(), 16);
  std::memcpy(&key.addresses[2], envelope.ipv6->destination.bytes.data(), 16);
  key.dest_qp = dest_qp | 6u << kVersionShift;
  return key;
}

QpKey qp_key(const wire::Ipv4& ipv4, std::uint32_t dest_qp) noexcept {
  QpKey key;
  const std::uint64_t source = load<std::uint32_t>(ipv4.source.bytes.data());
  key.addresses[0] = source << 32 | load<std::uint32_t>(ipv4.destination.bytes.data());
  key.dest_qp = dest_qp | 4u << kVersionShift;
  return key;
}

QpKey reversed(const QpKey& key, std::uint32_t dest_qp) noexcept {
  const std::uint32_t version = key.dest_qp >> kVersionShift;
  QpKey result{
      .addresses = {key.addresses[2], key.addresses[3], key.addresses[0], key.addresses[1]},
      .dest_qp = dest_qp | version << kVersionShift};
  if (version == 4) {
    result.addresses[0] = std::rotl(key.addresses[0], 32);
    result.addresses[2] = 0;
  }
  return result;
}

QpTable::QpTable(std::size_t capacity)
    : entries_(std::bit_ceil(capacity * 2)), shift_(64 - std::countr_zero(entries_.size())) {
  used_.reserve(capacity);
}

QpState* QpTable::find_or_add(const QpKey& key) noexcept {
  std::size_t at = hash_of(key) >> shift_;
  for (; !entries_[at].empty(); at = (at + 1) & (entries_.size() - 1))
    if (entries_[at].key == key) return &entries_[at].state;
  if (size() == capacity()) return nullptr;
  used_.push_back(static_cast<std::uint32_t>(at));
  entries_[at].key = key;
  return &entries_[at].state;
}

void QpTable::fetch(const QpKey& key) const noexcept {
  __builtin_prefetch(&entries_[hash_of(key) >> shift_]);
}

}  // namespace lw::emulator
