// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "core/huge_pages.h"
#include "roce/envelope.h"
#include "wire/bth.h"

namespace lw::path {

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

  std::uint32_t number = 0;                // the how manieth QP seen, from 1; 0: not seen yet
  std::uint32_t first_request = kUnknown;  // PSN that its requests begin with
  std::uint32_t first_response = kUnknown;
  std::uint32_t by_number = 0, by_qpn = 0;  // what waits for it; see events.h
};

/// The QPs of one direction, by key, in the order of their coming: an index with open addressing,
/// at most half full, beside a line of the cache for each. Nothing is allocated after construction
/// and nothing is forgotten.
class QpTable {
 public:
  /// Room for `capacity` QPs.
  explicit QpTable(std::size_t capacity);

  /// The QP's state, fresh when its key is new; null when there is no room for another. Valid
  /// until the table goes.
  [[nodiscard]] QpState* find_or_add(const QpKey& key) noexcept;

  /// Hints that a key will be asked for: of its place in the index first, which is returned, and of
  /// the entry there when that has had the time to come.
  std::size_t fetch_place(const QpKey& key) const noexcept;
  void fetch_entry(std::size_t place) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return entries_.capacity(); }

  /// visit(key, state), in the order of their coming.
  template <class Visit>
  void for_each(Visit visit) {
    for (Entry& entry : entries_) visit(std::as_const(entry.key), entry.state);
  }

 private:
  struct alignas(64) Entry {
    QpKey key;
    QpState state;
  };
  static_assert(sizeof(Entry) == 64);
  /// `entry` from 1, 0: empty; `tag`: bits of the hash, so that most strangers are seen from here.
  struct Slot {
    std::uint32_t tag = 0, entry = 0;
  };

  HugeVector<Entry> entries_;
  HugeVector<Slot> slots_;
  int shift_;
};

}  // namespace lw::path
