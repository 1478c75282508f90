// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/huge_pages.h"
#include "roce/qp_key.h"

namespace lw::emulator {

/// A set of QPNs that may report false positives: one bit for each of 65,536 hashes, small enough
/// for the first-level cache.
class QpFilter {
 public:
  void add(std::uint32_t qpn) noexcept { words_[hash(qpn) / 64] |= bit(qpn); }
  /// Returns false if the QPN was never added.
  [[nodiscard]] bool may_hold(std::uint32_t qpn) const noexcept {
    return words_[hash(qpn) / 64] & bit(qpn);
  }

 private:
  /// Neighbouring QPNs have different bits.
  static constexpr std::uint32_t hash(std::uint32_t qpn) noexcept {
    return qpn * 0x9e3779b1u >> 16;
  }
  static constexpr std::uint64_t bit(std::uint32_t qpn) noexcept {
    return std::uint64_t{1} << hash(qpn) % 64;
  }
  std::array<std::uint64_t, 1024> words_{};
};

/// What was learnt about a QP from the packets sent to it.
struct QpState {
  static constexpr std::uint32_t kUnknown = 0xffffffff;

  std::uint32_t number = 0;                // order of appearance, from 1; 0: not seen yet
  std::uint32_t first_request = kUnknown;  // first PSN of its requests
  std::uint32_t first_response = kUnknown;
  std::uint32_t by_number = 0, by_qpn = 0;  // groups of events that wait for it; see events.h
};

/// The QPs of one direction by key. Open addressing, at most half full, one cache line per QP, so a
/// look-up reads memory once. Nothing is allocated after construction, and no QP is removed.
class QpTable {
 public:
  /// Room for `capacity` QPs.
  explicit QpTable(std::size_t capacity);

  /// Returns the QP's state, new if its key is new; null if there is no room for another QP. Valid
  /// as long as the table.
  [[nodiscard]] QpState* find_or_add(const roce::QpKey& key) noexcept;

  /// Prefetches the entry of a key.
  void fetch(const roce::QpKey& key) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return used_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return used_.capacity(); }

  /// Calls visit(key, state) for each QP, in the order in which they were added.
  template <class Visit>
  void for_each(Visit visit) {
    for (const std::uint32_t place : used_)
      visit(std::as_const(entries_[place].key), entries_[place].state);
  }

 private:
  /// Empty if its key has no IP version.
  struct alignas(64) Entry {
    roce::QpKey key;
    QpState state;

    [[nodiscard]] bool empty() const noexcept { return key.dest_qp == 0; }
  };
  static_assert(sizeof(Entry) == 64);

  HugeVector<Entry> entries_;
  HugeVector<std::uint32_t> used_;  // indexes in entries_, in the order in which they were added
  int shift_;
};

}  // namespace lw::emulator
