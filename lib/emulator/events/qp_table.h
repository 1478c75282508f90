// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/huge_pages.h"
#include "roce/envelope.h"
#include "wire/bth.h"

namespace lw::emulator {

/// Says of most QPNs that they aren't among those added: a bit for each of 65,536 hashes, small
/// enough to stay in the first cache.
class QpFilter {
 public:
  void add(std::uint32_t qpn) noexcept { words_[hash(qpn) / 64] |= bit(qpn); }
  /// False: it was never added.
  [[nodiscard]] bool may_hold(std::uint32_t qpn) const noexcept {
    return words_[hash(qpn) / 64] & bit(qpn);
  }

 private:
  /// Neighbouring QPNs share no bit.
  static constexpr std::uint32_t hash(std::uint32_t qpn) noexcept {
    return qpn * 0x9e3779b1u >> 16;
  }
  static constexpr std::uint64_t bit(std::uint32_t qpn) noexcept {
    return std::uint64_t{1} << hash(qpn) % 64;
  }
  std::array<std::uint64_t, 1024> words_{};
};

/// Whose packets these are: where they come from, where they go, and to which QP.
struct QpKey {
  std::uint64_t addresses[4] = {};  // IPv4: both in the first
  std::uint32_t dest_qp = 0;        // 24 bits; the IP version above them

  friend bool operator==(const QpKey&, const QpKey&) = default;
};

/// `envelope` has an IPv4 or IPv6 header.
QpKey qp_key(const roce::Envelope& envelope, std::uint32_t dest_qp) noexcept;

/// The same of a packet that is_plain_rocev2().
QpKey qp_key(const wire::Ipv4& ipv4, std::uint32_t dest_qp) noexcept;

/// The key of what the other end sends to its peer's QP.
QpKey reversed(const QpKey& key, std::uint32_t dest_qp) noexcept;

/// What has been learnt of a QP from the packets that go to it.
struct QpState {
  static constexpr std::uint32_t kUnknown = 0xffffffff;

  std::uint32_t number = 0;                // order of appearance, from 1; 0: not seen yet
  std::uint32_t first_request = kUnknown;  // PSN that its requests begin with
  std::uint32_t first_response = kUnknown;
  std::uint32_t by_number = 0, by_qpn = 0;  // what waits for it; see events.h
};

/// The QPs of one direction, by key: open addressing, at most half full, a line of the cache for
/// each, so that to find one takes one look at memory. Nothing is allocated after construction and
/// nothing is forgotten.
class QpTable {
 public:
  /// Room for `capacity` QPs.
  explicit QpTable(std::size_t capacity);

  /// The QP's state, fresh when its key is new; null when there is no room for another. Valid
  /// until the table goes.
  [[nodiscard]] QpState* find_or_add(const QpKey& key) noexcept;

  /// Hints that a key will be asked for.
  void fetch(const QpKey& key) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return used_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return used_.capacity(); }

  /// visit(key, state), in the order of their coming.
  template <class Visit>
  void for_each(Visit visit) {
    for (const std::uint32_t place : used_)
      visit(std::as_const(entries_[place].key), entries_[place].state);
  }

 private:
  /// Empty with a key without an IP version.
  struct alignas(64) Entry {
    QpKey key;
    QpState state;

    [[nodiscard]] bool empty() const noexcept { return key.dest_qp == 0; }
  };
  static_assert(sizeof(Entry) == 64);

  HugeVector<Entry> entries_;
  HugeVector<std::uint32_t> used_;  // places in entries_, in the order of their coming
  int shift_;
};

}  // namespace lw::emulator
