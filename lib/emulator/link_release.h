// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link.h: frames leave.
#include <cstring>

#include "emulator/link.h"
#include "emulator/link_impl.h"
#include "roce/plain_rocev2.h"

namespace lw::emulator {

/// Moves frames to the egress buffer, which must have room for all. `next` is the entry after them
/// in their FIFO.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::let_out(std::span<Entry> entries, Entry* next) noexcept {
  if (!limits_) [[likely]]
    return move_out(entries, next);
  const std::size_t before = leaving_.size();
  move_out(entries, next);
  for (std::size_t i = before; i < leaving_.size(); ++i)
    inside_of(leaving_[i].transit.rule_index()) -= leaving_[i].transit.frames();
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::move_out(std::span<Entry> entries, Entry* next) noexcept {
  for (std::size_t i = 0; i < entries.size();) {
    const std::span<Handle> handles = egress_.places(entries.size() - i);
    for (Handle& handle : handles) handle = entries[i++].handle;
  }
  if (logs_late_) [[unlikely]]
    note_leaving(entries.size());
  std::size_t start = 0, end = 0;  // bounds of the last train
  while (end < entries.size()) {
    end = let_out_singles(entries, end);
    if (end == entries.size()) return;
    start = end;
    Leaving& train = leaving_.place();
    train = {entries[start].transit(), entries[start].due};
    end += train.transit.frames();
  }
  if (end > entries.size()) [[unlikely]]
    next->transit() = cut_after(leaving_.last().transit, entries.subspan(start));
}

/// Moves trains of one frame, from index `begin` up to the first longer train, and returns the
/// index of that train. Their Transits are not in the cache; the processor can fetch many at once,
/// as long as it needn't read one to find the next.
template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::let_out_singles(std::span<const Entry> entries,
                                                  std::size_t begin) noexcept {
  const std::span<Leaving> places = leaving_.places(entries.size() - begin);
  std::size_t used = 0;
  for (; used < places.size() && entries[begin + used].transit().followers == 0; ++used) {
    const Entry& entry = entries[begin + used];
    std::memcpy(&places[used].transit, &entry.transit(), sizeof(Transit));
    places[used].due = entry.due;
  }
  leaving_.withdraw(places.size() - used);
  return begin + used;
}

/// Cuts `train` after these frames, which leave. Returns the Transit of the remaining frames.
template <class Handle, FrameAccess<Handle> Frames>
Transit Link<Handle, Frames>::cut_after(Transit& train, std::span<const Entry> frames) noexcept {
  std::uint32_t bytes = 0;
  for (const Entry& frame : frames) bytes += length_of(frame.handle);
  return cut(train, frames.size(), train.byte_count() - bytes);
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::release(Instant now, std::size_t spare, Instant horizon) noexcept {
  depart(horizon);
  if (next_deadline_ <= horizon) [[unlikely]]
    close_due_groups(horizon);
  const std::size_t room = egress_.room();
  if (room > spare)
    queue_.take_due(now, room - spare,
                    [this](std::span<Entry> entries, Entry* next) { let_out(entries, next); });
  if (next_deadline_ <= horizon) [[unlikely]]
    let_out_held(horizon, spare);
}

/// Lets groups leave whose deadline has passed.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::close_due_groups(Instant now) noexcept {
  for (std::size_t rule = 0; rule < held_.size(); ++rule) {
    Held<Entry>& held = held_[rule];
    if (held.config().in_groups && !held.empty() && held.deadline() <= now)
      close_group(held, held.deadline(), static_cast<RuleIndex>(rule), now);
  }
  find_deadline();
}

/// Releases held frames whose deadline has passed because too few frames overtook them.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::let_out_held(Instant now, std::size_t spare) noexcept {
  for (Held<Entry>& held : held_) {
    for (; !held.empty() && held.deadline() <= now && egress_.room() > spare; held.pop()) {
      Entry entry = held.front();
      entry.due = held.deadline();
      let_out(std::span(&entry, 1), nullptr);
      --held_frames_;
    }
  }
  find_deadline();
}

template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::sent(std::size_t count, Instant now) noexcept {
  const bool all_single = leaving_.size() == egress_.size();
  std::size_t trains = all_single ? count : 0, frames = trains;
  while (frames < count) frames += leaving_[trains++].transit.frames();
  std::optional<Transit> rest;
  if (frames > count) [[unlikely]]
    rest = cut_before(leaving_[trains - 1].transit, count, frames);
  std::size_t frame = 0;  // counted where it is needed: see log_sent()
  for (std::size_t i = 0; i < trains;) {
    const std::size_t end = i + close_accounts(i, trains, frame, now);
    if (!logs_late_) [[likely]]
      i = end;
    for (; i < end; ++i) frame += leaving_[i].transit.frames();
  }
  if (rest) [[unlikely]]
    leaving_[--trains].transit = *rest;
  egress_.pop(count);
  egress_.rewind();
  leaving_.pop(trains);
  leaving_.rewind();
}

/// Cuts `train`, which ends before index `end` of egress(), at index `begin`. Returns the Transit
/// of the frames that stay.
template <class Handle, FrameAccess<Handle> Frames>
Transit Link<Handle, Frames>::cut_before(Transit& train, std::size_t begin,
                                         std::size_t end) noexcept {
  std::uint32_t bytes = 0;
  for (std::size_t i = begin; i < end; ++i) bytes += length_of(egress_[i]);
  return cut(train, train.frames() - (end - begin), bytes);
}

/// Counts trains that were sent at `now`, from index `first` on, together, as long as they belong
/// to the same rule. `frame` is the index of their first frame in egress(). Returns their number;
/// stops before index `end`.
template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::close_accounts(std::size_t first, std::size_t end,
                                                 std::size_t frame, Instant now) noexcept {
  const Transit kind = leaving_[first].transit;
  std::array<Histogram::Sample, kCountedTogether> late;
  std::size_t trains = 0;
  Amount amount;
  bool logged = false;
  end = std::min(end, first + late.size());
  for (std::size_t i = first; i < end; ++i, ++trains) {
    const auto& [transit, due] = leaving_[i];
    if (transit.rule != kind.rule || transit.queued != kind.queued) break;
    late[trains] = {(now - due).count(), transit.frames()};
    if (now - due > kLateLeast) [[unlikely]]
      count_late(leaving_[i], now);
    amount += {transit.frames(), transit.bytes};
    logged |= transit.logged || transit.logged_late;
  }
  (kind.queued ? release_error_ : pass_latency_).add(std::span(late).first(trains));
  add(counters_of(kind.rule_index()).sent, amount);
  add(direction_.sent, amount);
  if (logged) [[unlikely]]
    log_sent(first, first + trains, frame, now);
  return trains;
}

/// Logs the trains of these indexes that are in the ledger. `frame`: see close_accounts().
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::log_sent(std::size_t first, std::size_t end, std::size_t frame,
                                    Instant now) noexcept {
  for (std::size_t i = first; i < end; ++i) {
    const Transit& transit = leaving_[i].transit;
    if (transit.logged) {
      ledger_.close(slot_of(transit), now);
    } else if (transit.logged_late) {
      LedgerRecord record = record_of(transit, number_of(transit), pipeline_.direction());
      record.out = now;
      for (std::size_t k = 0; k < transit.frames(); ++k, ++record.number)
        ledger_.log(record, leaving_bth_[egress_.slot(frame + k)]);
    }
    frame += transit.frames();
  }
}

/// Keeps the BTH of the last `count` frames of the egress buffer, which the device may have taken
/// before they are logged.
template <class Handle, FrameAccess<Handle> Frames>
void Link<Handle, Frames>::note_leaving(std::size_t count) noexcept {
  if constexpr (OpensFrames<Frames, Handle>) {
    const std::size_t all = egress_.size();
    for (std::size_t i = all - count; i < all; ++i) {
      const Handle handle = egress_[i];
      const wire::Bytes bytes = Frames::bytes(handle);
      leaving_bth_[egress_.slot(i)] = LoggedBth(
          roce::is_plain_rocev2(bytes) ? &roce::plain_bth(bytes) : bth_of(Frames::open(handle)));
    }
  }
}

}  // namespace lw::emulator
