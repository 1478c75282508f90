// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link.h: the batched path. Consecutive frames of a burst under a rule that acts on batches are
// admitted as a whole.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/link.h"
#include "emulator/link_impl.h"
#include "roce/plain_rocev2.h"

namespace lw::emulator {

/// Returns the frames that an event may target, one bit each, if that decides whether frames must
/// be opened.
template <class Handle, FrameAccess<Handle> Frames>
std::uint64_t Link<Handle, Frames>::find_targeted(std::span<const Handle> frames,
                                                  bool decides) noexcept {
  Events& events = pipeline_.events();
  if (!events.listening()) return 0;
  const auto bytes_of = [](Handle handle) { return Frames::bytes(handle); };
  if (decides) return events.look_ahead(frames, bytes_of);
  events.keep_up();
  events.fetch(frames, bytes_of);
  return 0;
}

/// Returns true if frames of this rule can be admitted as a batch.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::batches(const Rule& rule) const noexcept {
  return rule.acts_on_batch() &&
         (!rule.queue() || (rule.knows_release() && waiting_[rule.index()].empty()));
}

/// Returns the number of frames, from the first, that are plain RoCEv2 packets that no event
/// targets.
template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::count_plain(std::span<const Handle> frames,
                                              std::uint64_t targeted) noexcept {
  const std::size_t end =
      std::min(frames.size(), static_cast<std::size_t>(std::countr_zero(targeted)));
  std::size_t count = 0;
  while (count < end && roce::is_plain_rocev2(Frames::bytes(frames[count]))) ++count;
  return count;
}

template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::admit(std::span<const Handle> frames, Instant now,
                                        std::span<Handle> dropped) noexcept {
  std::size_t drops = 0;
  for (; frames.size() > Events::kMostTogether; frames = frames.subspan(Events::kMostTogether))
    drops += admit_burst(frames.first(Events::kMostTogether), now, dropped.subspan(drops));
  return drops + admit_burst(frames, now, dropped.subspan(drops));
}

/// Consecutive frames under a rule that acts on batches form a batch. All others take the slow
/// path, one by one.
template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::admit_burst(std::span<const Handle> frames, Instant now,
                                              std::span<Handle> dropped) noexcept {
  depart(now);
  // The rule of all plain RoCEv2 packets that no event targets, if it doesn't need them opened.
  Rule* const common = pipeline_.header_independent_rule();
  const std::uint64_t targeted = find_targeted(frames, common != nullptr);
  std::size_t i = common && batches(*common) ? count_plain(frames, targeted) : 0;
  std::size_t drops = 0, begin = 0;
  Rule* batch = i > 0 ? common : nullptr;  // the rule of the frames from `begin` on
  Amount queued;
  const auto end_batch = [&](std::size_t end) {
    if (batch)
      drops += admit_batch(*batch, frames.subspan(begin, end - begin), now, dropped.subspan(drops));
    batch = nullptr;
  };
  const auto joins_batch = [&](Rule* rule) {
    if (!rule || rule == batch) return rule != nullptr;
    if (!batches(*rule)) return false;
    end_batch(i);
    batch = rule;
    begin = i;
    return true;
  };
  for (; i < frames.size(); ++i) {
    const Handle handle = frames[i];
    bool kept;
    if (common && !(targeted >> i & 1) && roce::is_plain_rocev2(Frames::bytes(handle))) {
      if (joins_batch(common)) continue;
      end_batch(i);
      kept = admit_unopened(*common, handle, now, queued);
    } else {
      const roce::Envelope envelope = Frames::open(handle);
      const wire::Bth* bth = bth_of(envelope);
      const auto match = pipeline_.match(envelope, bth);
      if (bth && joins_batch(pipeline_.batch_rule(match))) continue;
      end_batch(i);
      if (limits_) [[unlikely]]
        release(now, frames.size() - i);
      const IngressFrame arrival = arrival_of(envelope, received_++, now);
      Decision decision = pipeline_.decide(arrival, match);
      release_on_arrival(decision);
      kept = apply(handle, arrival, decision, nullptr);
    }
    if (!kept) dropped[drops++] = handle;
  }
  end_batch(frames.size());
  if (queued.frames > 0) {
    add(direction_.received, queued);
    add(counters_of(common->index()).received, queued);
  }
  return drops;
}

/// Admits frames of a rule that acts on batches; no event targets them.
template <class Handle, FrameAccess<Handle> Frames>
std::size_t Link<Handle, Frames>::admit_batch(Rule& rule, std::span<const Handle> batch,
                                              Instant now, std::span<Handle> dropped) noexcept {
  std::size_t drops = 0;
  for (; !batch.empty(); batch = batch.subspan(std::min(batch.size(), Rule::kMostTogether))) {
    const auto frames = batch.first(std::min(batch.size(), Rule::kMostTogether));
    if (queue_room() >= frames.size() && enter_batch(rule, frames, now)) [[likely]]
      continue;
    Amount queued;
    for (const Handle handle : frames)
      if (!admit_unopened(rule, handle, now, queued)) dropped[drops++] = handle;
    add(direction_.received, queued);
    add(counters_of(rule.index()).received, queued);
  }
  return drops;
}

/// Returns how many of these ascending release times equal the first.
inline std::size_t count_equal(std::span<const Instant> releases) noexcept {
  if (releases.back() == releases.front()) return releases.size();
  return static_cast<std::size_t>(
      std::ranges::find_if(releases, [&](Instant at) { return at != releases.front(); }) -
      releases.begin());
}

/// Moves frames that wait at most `wait` to the memory in which they wait.
template <class Handle, FrameAccess<Handle> Frames>
std::span<const Handle> Link<Handle, Frames>::stored(std::span<const Handle> frames,
                                                     Duration wait) noexcept {
  if constexpr (StoresFrames<Frames, Handle>) {
    if (wait >= kStoredFrom && frames_.stores()) {
      frames_.store(frames, stored_);
      return std::span<const Handle>(stored_).first(frames.size());
    }
  }
  return frames;
}

/// Computes releases_ of frames that wait in their rule's queue. Returns false, and does nothing,
/// if the queue has no room for all, or their releases cannot be decided now.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::queue_together(Rule& rule, std::span<const Handle> frames,
                                          Instant now) noexcept {
  std::array<std::uint32_t, Rule::kMostTogether> held;
  for (std::size_t i = 0; i < frames.size(); ++i)
    held[i] = on_the_line(Frames::length(frames[i]), 0);
  if (!queue_.keeps(rule.line(), rule.earliest_release(now)) ||
      !rule.queue_together(std::span(held).first(frames.size()), now,
                           std::span(releases_).first(frames.size())))
    return false;
  next_departure_ = std::min(next_departure_, rule.queue()->frames.next_event());
  return true;
}

/// Returns false, and does nothing, if the frames must be admitted one by one.
template <class Handle, FrameAccess<Handle> Frames>
bool Link<Handle, Frames>::enter_batch(Rule& rule, std::span<const Handle> frames,
                                       Instant now) noexcept {
  static constexpr roce::Envelope kUnopened{};
  const bool in_queue = rule.queue() != nullptr;
  const auto releases = std::span(releases_).first(frames.size());
  if (!in_queue) {
    rule.releases(received_, now, releases);
  } else if (!queue_together(rule, frames, now)) {
    return false;
  }
  const Decision decision = rule.batch_decision();
  const bool logged = ledger_.wants(decision);
  if (in_queue) {
    // counted when they leave the queue
  } else if (logged) [[unlikely]] {
    for (const Instant at : releases) delay_.add((at - now).count());
  } else {
    const Instant sample = releases[batches_++ % releases.size()];  // samples each position in turn
    delay_.add((sample - now).count(), frames.size());
  }
  Transit transit;
  fill(transit, {kUnopened, nullptr, received_, 0, now}, decision, 0, kNotLogged);
  if (logged) [[unlikely]]
    transit.logged_late = logs_late_ = true;
  Amount all{frames.size(), 0};
  const auto waiting = stored(frames, std::max(releases.front(), releases.back()) - now);
  // From the queue frames may be taken back one by one: see take_back().
  const bool in_order = !in_queue && queue_.keeps(decision.line, releases.front());
  all.bytes = in_order ? enter_in_trains(waiting, transit) : enter_singly(waiting, transit);
  received_ += frames.size();
  if (limits_) [[unlikely]]
    inside_of(decision.rule) += frames.size();
  queue_.push(decision.line, std::span<const Entry>(entries_).first(frames.size()), now);
  add(direction_.received, all);
  add(counters_of(decision.rule).received, all);
  return true;
}

/// Sets `transit` to a train of `frames` frames and `bytes` bytes that begins `ahead` frames after
/// `like`. Works on a copy, because a processor is slow to read a word that was written in parts.
inline void assign(Transit& transit, const Transit& like, std::size_t ahead, std::size_t frames,
                   std::uint32_t bytes) noexcept {
  std::memcpy(&transit, &like, sizeof transit);
  transit.skip(ahead);
  transit.set_frames(frames);
  transit.set_bytes(bytes);
}

/// Copies frames to entries_ (releases_ ascending), grouping equal release times into trains.
/// Returns total bytes.
template <class Handle, FrameAccess<Handle> Frames>
std::uint64_t Link<Handle, Frames>::enter_in_trains(std::span<const Handle> frames,
                                                    const Transit& like) noexcept {
  const auto releases = std::span(releases_).first(frames.size());
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < frames.size();) {
    const std::size_t start = i, end = i + count_equal(releases.subspan(i));
    const Instant due = releases[start];
    std::uint32_t bytes = 0;
    for (; i < end; ++i) {
      const Handle handle = frames[i];
      entries_[i] = {due, handle};
      bytes += Frames::length(handle);
    }
    assign(entries_[start].transit(), like, start, end - start, bytes);
    all += bytes;
  }
  return all;
}

/// Like enter_in_trains(), for releases_ in any order. Each frame is a train of one.
template <class Handle, FrameAccess<Handle> Frames>
std::uint64_t Link<Handle, Frames>::enter_singly(std::span<const Handle> frames,
                                                 const Transit& like) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::uint32_t bytes = Frames::length(frames[i]);
    entries_[i] = {releases_[i], frames[i]};
    assign(entries_[i].transit(), like, i, 1, bytes);
    all += bytes;
  }
  return all;
}

}  // namespace lw::emulator
