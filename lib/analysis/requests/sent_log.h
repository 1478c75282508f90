// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "analysis/packet.h"

namespace lw::analysis {

/// A PSN without wrap-around.
using Sequence = std::uint64_t;

[[nodiscard]] inline std::uint32_t psn_of(Sequence sequence) noexcept {
  return static_cast<std::uint32_t>(sequence & wire::Psn::kMask);
}

/// A request packet, or PSNs that were skipped.
struct Sent {
  Sequence psn = 0;
  std::uint32_t span = 1;  // PSNs: of a READ, those of its response; of a gap, all
  std::uint8_t opcode = 0;
  std::uint8_t answers_due = 0;  // of a READ or atomic: answers to further requests, at most
  bool seen : 1 = false;         // false: a gap
  bool fetches : 1 = false;      // a READ or atomic: its response answers it, not an ACK
  bool ack_req : 1 = false;
  bool has_reth : 1 = false, has_immediate : 1 = false;
  bool answered : 1 = false;         // an ATOMIC ACK, or all of a READ's response
  bool asked_again : 1 = false;      // since then responses may come again
  bool answered_before : 1 = false;  // the responder may have answered before it, or the gap, was
                                     // seen here
  bool reused : 1 = false;           // other requests have had its PSNs: their answers are no news
  bool in_row : 1 = false;           // a gap: the packets around it came one after the other
  bool span_known : 1 = true;  // false: a READ without RETH; `span` is the least that it may be
  bool crossed : 1 = false;    // a READ or atomic: its answer met its repetition on the way
  bool unclear_if_kept : 1 = false;  // a READ: nobody can tell which responses its sender lacked,
                                     // if it keeps those behind a missing one
  // first and last seen; of a gap, the frame that showed it
  std::uint64_t frame = 0, last_frame = 0;
  Instant stamp = {}, last_stamp = {};
  std::uint64_t va = 0;
  std::uint32_t payload = 0;
  std::uint32_t dma_length = 0;  // of a READ without RETH: bytes of its response so far
  std::uint32_t r_key = 0, immediate = 0;
  std::uint16_t ip_id = 0;        // first seen; of a gap, that of the packet that showed it
  std::uint16_t last_ip_id = 0;   // last seen
  std::uint32_t copies : 24 = 0;  // times that it was seen again
  std::uint32_t repeats : 8 = 0;  // times in a row that it was sent again for the same PSNs
  std::uint32_t responses = 0;    // of a READ: PSNs of its response up to the newest
  // A READ may be repeated for a part of its response. When it was last seen, it did not ask for:
  std::uint32_t last_at = 0;    // PSNs at its begin
  std::uint32_t last_left = 0;  // PSNs at its end
  std::uint32_t until_response =
      0;  // ns from its first transmission to its first response, at most 4 s
  // the last READ response, the response to an atomic, or the ACK
  std::uint64_t response_frame = 0;
  Instant response_stamp = {};

  /// Notes that it has come again.
  void note_again(const CapturedPacket& packet) noexcept {
    ++copies;
    last_frame = packet.number;
    last_stamp = packet.stamp;
  }
  /// Takes note_again() and note_asked() back. `before`: it, before them.
  void take_back_again(const Sent& before) noexcept {
    copies = before.copies;
    last_at = before.last_at;
    last_left = before.last_left;
    last_frame = before.last_frame;
    last_stamp = before.last_stamp;
    last_ip_id = before.last_ip_id;
  }
  /// Notes that it is sent again as `again`, which may ask for a part of its PSNs.
  void note_asked(const Sent& again) noexcept {
    constexpr std::uint32_t kMost = 255;
    repeats = again.psn == asked_from() ? std::min(repeats + 1U, kMost) & kMost : 1;
    last_at = static_cast<std::uint32_t>(again.psn - psn);
    const Sequence end = std::min(again.psn + again.span, psn + span);
    last_left = again.has_reth ? static_cast<std::uint32_t>(psn + span - end) : 0;
  }
  /// The PSNs that it asked for when it was last seen: from the first one to the one before the
  /// end.
  [[nodiscard]] Sequence asked_from() const noexcept { return psn + last_at; }
  [[nodiscard]] Sequence asked_end() const noexcept { return psn + span - last_left; }
};
static_assert(sizeof(Sent) == 112, "a stream keeps thousands of them: update StreamMemory");

/// Returns a request with the PSN `psn`, which takes `span` PSNs.
[[nodiscard]] Sent sent_of(const CapturedPacket& packet, Sequence psn, std::uint32_t span) noexcept;
/// Returns the gap that `packet` shows: the PSNs from `first` to the one before `end`.
[[nodiscard]] Sent gap_before(const CapturedPacket& packet, Sequence first, Sequence end) noexcept;

/// The requests of one direction in the order of their PSNs, without holes: those that wait for a
/// response, and some that have it.
class SentLog {
 public:
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] Sequence front_psn() noexcept { return entry(0).psn; }
  /// Returns the entry that covers `psn`; null if the log doesn't contain it.
  [[nodiscard]] Sent* find(Sequence psn) noexcept {
    const std::size_t after = behind(psn);
    if (after == 0) return nullptr;
    Sent& found = entry(after - 1);
    return psn < found.psn + found.span ? &found : nullptr;
  }
  /// Appends the entry that make() returns. It is made in place: a copy of a new entry would wait
  /// for its stores. Pointers to other entries become invalid.
  template <class Make>
  void push(Make make) {
    make_room();
    ::new (&entry(size_++)) Sent(make());
  }
  /// Inserts a gap before all entries. It waits if all others do; returns whether it waits.
  bool push_front(const Sent& gap) {
    insert(0, gap);
    if (retired_ == 0) return true;
    ++retired_;
    return false;
  }

  /// Inserts a packet into a gap, which is split around it. `sent.span` is cut to the rest of the
  /// gap. Returns the new entry.
  Sent& fill(Sent sent);

  /// The PSNs of an entry from `psn` on are not its own: they become a gap, which the next entry
  /// shows. Requires that an entry covers `psn`, and begins before it.
  void cut(Sequence psn);

  /// The entries that wait, oldest first.
  [[nodiscard]] std::size_t waiting() const noexcept { return size_ - retired_; }
  [[nodiscard]] Sent& oldest_waiting() noexcept { return entry(retired_); }
  [[nodiscard]] Sent& newest() noexcept { return entry(size_ - 1); }
  /// Ends the wait of the oldest waiting entry and returns it. Keeps the last `kept` entries that
  /// no longer wait, at least one, so that copies of them are recognised. Calls forget(entry) for
  /// each that is no longer kept, oldest first.
  template <class Forget>
  const Sent& retire(std::size_t kept, Forget forget) {
    for (++retired_; retired_ > kept; --retired_) {
      forget(std::as_const(entry(0)));
      head_ = place(1);
      --size_;
    }
    return entry(retired_ - 1);
  }
  /// Frees memory that is no longer needed. Like push(), it makes pointers to entries invalid.
  void trim() {
    if (!fits()) resize(size_ + spare());
  }

  /// Calls visit(entry) for the entries that begin in [first, end), in order.
  template <class Visit>
  void for_each(Sequence first, Sequence end, Visit visit) {
    for (std::size_t i = behind(first - 1); i < size_ && entry(i).psn < end; ++i) visit(entry(i));
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t index) const noexcept {
    const std::size_t at = head_ + index;
    return at < ring_.size() ? at : at - ring_.size();
  }
  [[nodiscard]] Sent& entry(std::size_t index) noexcept { return ring_[place(index)]; }
  /// Index of the first entry after `psn`. Entries have no holes, and most have one PSN: the
  /// distance from the newest entry is a bound of the index, and mostly the index.
  [[nodiscard]] std::size_t behind(Sequence psn) noexcept {
    if (size_ == 0 || psn >= entry(size_ - 1).psn) return size_;
    const Sequence most = std::min(entry(size_ - 1).psn - psn, Sequence{size_} - 1);
    const std::size_t from = size_ - 1 - static_cast<std::size_t>(most);
    if (entry(from).psn <= psn && entry(from + 1).psn > psn) return from + 1;
    return search(from, psn);
  }
  /// behind(), which is at least `from`.
  [[nodiscard]] std::size_t search(std::size_t from, Sequence psn) noexcept;
  void insert(std::size_t index, const Sent& sent);
  /// Whether the ring is not far larger than needed.
  [[nodiscard]] bool fits() const noexcept { return ring_.size() <= 4 * size_ + 16; }
  [[nodiscard]] std::size_t spare() const noexcept { return std::max<std::size_t>(4, size_ / 2); }
  void make_room() {
    if (size_ == ring_.size() || !fits()) resize(size_ + spare());
  }
  void resize(std::size_t capacity);

  std::vector<Sent> ring_;  // a ring, from head_ on
  std::size_t head_ = 0, size_ = 0;
  std::size_t retired_ = 0;  // number of entries in front that no longer wait
};

}  // namespace lw::analysis
